"""What a faithful copy of a file or tree is made of: every entry with what has to be the same in the copy."""

from __future__ import annotations

import errno
import os
import stat
from typing import List, NamedTuple, Tuple

from artifactctl.hosts.probe import kernel, mounts, reading
from artifactctl.hosts.probe.digests import mounted_here
from artifactctl.hosts.probe.surveying import Sighted, Survey, Target, Visitor
from artifactctl.hosts.probe.walking import type_letter

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_HOLES_TOLD = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)


class CopyRow(NamedTuple):
    """One entry; `relative` b"" is the top. `letter` is that of `walking.type_letter`, `mode` the permission bits.

    Files that share a `group` other than 0 are names of one inode. `size` of a folder is 0.
    """

    relative: bytes
    letter: str
    size: int
    mode: int
    modified_ns: int
    link_target: bytes
    group: int


class _Rows(Visitor):
    def __init__(self) -> None:
        self.rows: List[CopyRow] = []
        self.problems: List[str] = []

    def entry(self, seen: Sighted) -> None:
        status, letter = seen.status, type_letter(seen.status.mode)
        target = os.readlink(seen.name, dir_fd=seen.folder) if letter == "l" else b""
        self.rows.append(
            CopyRow(
                seen.relative,
                letter,
                0 if letter == "d" else status.size,
                stat.S_IMODE(status.mode),
                status.modified_ns,
                target,
                status.inode if letter == "f" and status.links > 1 else 0,
            )
        )

    def mounted(self, relative: bytes) -> None:
        self.problems.append(mounted_here(relative))

    def problem(self, text: str) -> None:
        self.problems.append(text)


def rows_of(root: bytes, relative: bytes) -> Tuple[List[CopyRow], List[str]]:
    """Return the entries of `relative` below `root`, folders before their content, and what could not be looked at."""
    parent_relative, _, name = relative.rpartition(b"/")
    top = os.open(root, _FOLDER)
    try:
        parent = kernel.open_beneath(top, parent_relative)
    finally:
        os.close(top)
    try:
        status = kernel.statx(name, parent)
        found = _Rows()
        mounted = mounts.mount_points_below(mounts.join(os.path.realpath(root), relative))
        Survey(Target(parent, name, status, mounted), (found,)).run()
        return found.rows, found.problems
    finally:
        os.close(parent)


def data_ranges(path: bytes) -> List[Tuple[int, int]]:
    """Return (offset, length) of everything in a regular file that is no hole; all of it where nothing tells."""
    descriptor = reading.open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        try:
            return _ranges(descriptor, size)
        except OSError as error:
            if error.errno not in _NO_HOLES_TOLD:
                raise
            return [(0, size)] if size else []
    finally:
        os.close(descriptor)


def _ranges(descriptor: int, size: int) -> List[Tuple[int, int]]:
    ranges: List[Tuple[int, int]] = []
    offset = 0
    while offset < size:
        try:
            start = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
            raise
        offset = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        ranges.append((start, offset - start))
    return ranges
