"""What identifies a replica's content: SHA-256 over one record per entry, in member order (depth first, byte order).

The looks and the manifest of a quarantine must agree in every byte of it, so both take the record from here.
"""

from __future__ import annotations

from typing import List


def record(relative: bytes, letter: str, inode: int, size: int, *, modified_ns: int, changed_ns: int) -> bytes:
    """Return an entry's record: path, NUL, type letter (f, d, l, o), NUL, numbers in decimal, newline.

    The numbers are inode, size, mtime and ctime. Of a folder that is the target itself (b"") there is the inode only: a
    rename into another folder changes its ctime, and nothing else of it. A target that is a file has all of them, since
    nothing else tells of a write whose mtime was put back; our own rename of it is witnessed (`own_changes`).
    """
    if relative or letter == "f":
        numbers = b"%d %d %d %d" % (inode, size, modified_ns, changed_ns)
    elif letter == "d":
        numbers = b"%d" % inode
    else:
        numbers = b"%d %d %d" % (inode, size, modified_ns)
    return b"%b\0%b\0%b\n" % (relative, letter.encode(), numbers)


class PathByDepth:
    """Gives depth-first members their paths relative to the target, from depth and name alone."""

    def __init__(self) -> None:
        self._names: List[bytes] = []

    def path(self, depth: int, name: bytes) -> bytes:
        """Return the path of the next member; depth 0 is the target itself."""
        if depth == 0:
            return b""
        del self._names[depth - 1 :]
        self._names.append(name)
        return b"/".join(self._names)
