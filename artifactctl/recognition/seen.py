"""What recognition needs to see of a file system; a host's listings satisfy it as they are."""

from collections.abc import Callable, Sequence
from typing import Protocol

Read = Callable[[bytes, int, int], bytes]
"""read(relative, offset, length): up to `length` bytes of a regular file; HostFailure when it cannot be read."""

FILE = "file"
DIRECTORY = "directory"
SYMLINK = "symlink"


class SeenEntry(Protocol):
    """One name in a folder; `type` is "file", "directory", "symlink" or "other"."""

    @property
    def name(self) -> bytes: ...

    @property
    def type(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


class SeenFolder(Protocol):
    """One folder of a depth-first walk in byte order; `relative` b"" is where the walk began."""

    @property
    def relative(self) -> bytes: ...

    @property
    def entries(self) -> Sequence[SeenEntry]: ...

    @property
    def problem(self) -> str: ...


def join(folder: bytes, name: bytes) -> bytes:
    """Return the path of `name` in `folder`, where b"" is the top."""
    return folder + b"/" + name if folder else name


def base_name(relative: bytes) -> bytes:
    """Return the last component."""
    return relative.rpartition(b"/")[2]
