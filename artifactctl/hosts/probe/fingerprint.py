"""What identifies a replica's content at a look."""

from __future__ import annotations

import hashlib
from typing import List, Tuple


class Fingerprint:
    """SHA-256 over (path, type, inode, size, mtime, ctime) of everything below the top, and the top's inode.

    Members come in depth-first byte order, paths are relative to the top. The top's own ctime is left out, since a
    rename changes it; a top that is no folder adds its type, size and mtime. Letters: f, d, l, o.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add_top(self, letter: str, inode: int, size: int, modified_ns: int) -> None:
        """Add the top, before or after its members but once; a folder's size and time say nothing of its content."""
        own = (inode, 0, 0) if letter == "d" else (inode, size, modified_ns)
        self._digest.update(b"top %s %d %d %d\0" % (letter.encode(), *own))

    def add(self, relative: bytes, letter: str, inode: int, size: int, times_ns: Tuple[int, int]) -> None:
        """Add one member; `times_ns` are its mtime and ctime. A folder's size is left out: it depends on the past."""
        known = 0 if letter == "d" else size
        self._digest.update(b"%s %d %d %d %d %s\0" % (letter.encode(), inode, known, *times_ns, relative))

    def hexdigest(self) -> str:
        """Return the fingerprint."""
        return self._digest.hexdigest()


class PathByDepth:
    """Gives depth-first members their relative paths, from depth and name alone."""

    def __init__(self) -> None:
        self._names: List[bytes] = []

    def path(self, depth: int, name: bytes) -> bytes:
        """Return the path below the top (depth 0) of the next member."""
        del self._names[max(0, depth - 1) :]
        self._names.append(name)
        return b"/".join(self._names) if depth else b""
