"""Open folders of a depth-first descent: relative to descriptors, bounded in number, at any depth.

A tree may be thousands of levels deep and its paths longer than PATH_MAX. The stack keeps the descriptors of the
deepest levels only; going up it opens `..` again, or the path from the top, and accepts only the inode it had left.
"""

from __future__ import annotations

import errno
import os
from typing import Iterator, List, Optional, Tuple

from artifactctl.hosts.probe import kernel

KEPT_OPEN = 64
_LONGEST_PIECE = 4000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class MountCrossed(OSError):
    """The folder is the root of another mount."""


class Level:
    """One entered folder. `relative` is not kept per level: at depth 5,000 that would be gigabytes."""

    __slots__ = ("descriptor", "name", "status")

    def __init__(self, name: bytes, descriptor: int, status: kernel.FileStatus) -> None:
        self.name = name
        self.descriptor: Optional[int] = descriptor
        self.status = status


def open_quietly(name: bytes, flags: int, dir_fd: Optional[int]) -> int:
    """Open without touching the access time where the owner or root may ask for that, plainly elsewhere."""
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=dir_fd)
    except PermissionError:
        return os.open(name, flags, dir_fd=dir_fd)


def split_path(path: bytes) -> Tuple[bytes, bytes]:
    """Return (folder, name) of an absolute path; the name of / is b"."."""
    folder, name = os.path.split(path.rstrip(b"/") or b"/")
    return folder or b".", name or b"."


def open_folder(path: bytes) -> int:
    """Open a folder by a path of any length; links in its middle are followed, its last component is not."""
    if len(path) < _LONGEST_PIECE:
        return open_quietly(path, _FOLDER_FLAGS, None)
    current = os.open(b"/" if path.startswith(b"/") else b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    pieces = list(_pieces(path))
    for index, piece in enumerate(pieces):
        following = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            opened = os.open(piece, _FOLDER_FLAGS if index == len(pieces) - 1 else following, dir_fd=current)
        finally:
            os.close(current)
        current = opened
    return current


def _pieces(path: bytes) -> Iterator[bytes]:
    piece: List[bytes] = []
    length = 0
    for part in path.split(b"/"):
        if not part:
            continue
        if length + len(part) + 1 > _LONGEST_PIECE and piece:
            yield b"/".join(piece)
            piece, length = [], 0
        piece.append(part)
        length += len(part) + 1
    if piece:
        yield b"/".join(piece)


class FolderStack:
    """The way from the top of a walk to the folder being read. Close it, or use it as a context."""

    def __init__(self, descriptor: int) -> None:
        """Take over `descriptor`, the open top of the walk."""
        status = kernel.statx(b"", descriptor)
        self._top = descriptor
        self._mount_id = kernel.mount_id_of(descriptor)
        self._levels = [Level(b"", descriptor, status)]
        self._relative = b""

    def __enter__(self) -> "FolderStack":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every descriptor that is still open."""
        for level in self._levels:
            if level.descriptor is not None:
                os.close(level.descriptor)
                level.descriptor = None
        self._levels = []

    @property
    def depth(self) -> int:
        """How many folders are entered, the top included."""
        return len(self._levels)

    @property
    def descriptor(self) -> int:
        """The descriptor of the deepest folder; ESTALE when the way back to it was lost."""
        descriptor = self._levels[-1].descriptor
        if descriptor is None:
            raise OSError(errno.ESTALE, "the folder was moved during the walk", os.fsdecode(self.relative))
        return descriptor

    @property
    def status(self) -> kernel.FileStatus:
        """The status of the deepest folder when it was entered."""
        return self._levels[-1].status

    @property
    def mount_id(self) -> Optional[int]:
        """The mount the whole walk stays on."""
        return self._mount_id

    @property
    def relative(self) -> bytes:
        """The path of the deepest folder below the top."""
        return self._relative

    def enter(self, name: bytes) -> None:
        """Go down into `name`; MountCrossed when it is another mount, OSError when it cannot be opened."""
        descriptor = open_quietly(name, _FOLDER_FLAGS, self.descriptor)
        try:
            status = kernel.statx(b"", descriptor)
            known = status.mount_id if status.mount_id is not None else kernel.mount_id_of(descriptor)
            if known != self._mount_id:
                raise MountCrossed(errno.EXDEV, "another filesystem is mounted here", os.fsdecode(name))
        except OSError:
            os.close(descriptor)
            raise
        self._relative = self._relative + b"/" + name if self._relative else name
        self._levels.append(Level(name, descriptor, status))
        self._close_beyond(KEPT_OPEN)

    def _close_beyond(self, kept: int) -> None:
        index = len(self._levels) - 1 - kept
        if index < 1:  # the top stays open: it is the way back when a folder is moved
            return
        level = self._levels[index]
        if level.descriptor is not None:
            os.close(level.descriptor)
            level.descriptor = None

    def leave(self) -> None:
        """Go up one folder; afterwards `descriptor` raises ESTALE if the way to it was lost."""
        left = self._levels.pop()
        self._relative = self._relative[: max(0, len(self._relative) - len(left.name) - 1)]
        above = self._levels[-1] if self._levels else None
        try:
            if above is not None and above.descriptor is None:
                above.descriptor = self._reopen(left, above)
        finally:
            if left.descriptor is not None:
                os.close(left.descriptor)

    def _reopen(self, left: Level, above: Level) -> Optional[int]:
        """Return a descriptor of `above` found through `..` or from the top, None when neither leads to its inode."""
        found = None if left.descriptor is None else _accepted(left.descriptor, b"..", above)
        # the whole way from the top is long where the tree is deep: only when a folder was moved
        return found if found is not None else _accepted(self._top, self.relative, above)


def _accepted(base: int, way: bytes, wanted: Level) -> Optional[int]:
    """Return `way` from `base`, opened, when it leads to the wanted inode."""
    try:
        found = os.open(way, _FOLDER_FLAGS, dir_fd=base) if way == b".." else kernel.open_beneath(base, way)
    except OSError:  # reported by `descriptor`: the level stays closed
        return None
    seen = os.fstat(found)
    if (seen.st_dev, seen.st_ino) == (wanted.status.device, wanted.status.inode):
        return found
    os.close(found)
    return None
