"""Whether blocks are shared with other files (reflinks, snapshots) or compressed: then st_blocks over-promises."""

from __future__ import annotations

import errno
import fcntl
import heapq
import os
import struct
from typing import List, Tuple

from artifactctl.hosts.probe import kernel, leases
from artifactctl.hosts.probe.surveying import Sighted, Visitor

NONE, SOME, UNKNOWN = "none", "some", "unknown"
_FIEMAP = 0xC020660B
_EXTENTS_PER_CALL = 128
_MOST_CALLS = 16
_LAST, _ENCODED, _SHARED = 0x0001, 0x0008, 0x2000
_HEADER, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")
_SAMPLED_FILES = 2000
_LARGEST_FILES = 256
_ENOUGH = 0.99
_NEVER_SHARED = frozenset(("ext2", "ext3", "ext4", "tmpfs", "ramfs"))
_SAMPLED = frozenset(("btrfs", "xfs"))


class SharedExtents(Visitor):
    """Asks FIEMAP about the first files of a survey and the largest of the rest."""

    def __init__(self, filesystem_type: str) -> None:
        self._type = filesystem_type
        self._answer = NONE if filesystem_type in _NEVER_SHARED else ""
        if filesystem_type not in _NEVER_SHARED and filesystem_type not in _SAMPLED:
            self._answer = UNKNOWN
        self._asked = 0
        self._asked_bytes = self._all_bytes = 0
        self._rest: List[Tuple[int, bytes]] = []

    def entry(self, seen: Sighted) -> None:
        status = seen.status
        if self._answer or not status.is_regular or not status.allocated_bytes:
            return
        self._all_bytes += status.allocated_bytes
        if status.attributes & kernel.ATTRIBUTE_COMPRESSED:
            self._answer = SOME
        elif self._asked < _SAMPLED_FILES:
            self._ask(seen.name, seen.folder, status.allocated_bytes)
        else:
            heapq.heappush(self._rest, (status.allocated_bytes, seen.relative))
            if len(self._rest) > _LARGEST_FILES:
                heapq.heappop(self._rest)

    def _ask(self, name: bytes, folder: int, allocated: int) -> None:
        self._asked += 1
        try:
            descriptor = leases.open_for_lease(name, folder)
        except OSError:  # not readable, or leased by somebody: it stays out of the sample
            return
        try:
            found = _flags_of(descriptor)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EIO):
                raise
            self._answer = UNKNOWN
            return
        finally:
            os.close(descriptor)
        self._asked_bytes += allocated
        if found & (_SHARED | _ENCODED):
            self._answer = SOME

    def conclude(self, top: int) -> str:
        """Ask about the largest files left and return the answer; `top` is the open top folder.

        NONE needs a sample that covers 99% of the bytes.
        """
        for allocated, relative in sorted(self._rest, reverse=True):
            if self._answer:
                break
            folder, _, name = relative.rpartition(b"/")
            try:
                descriptor = kernel.open_beneath(top, folder)
            except OSError:  # gone meanwhile: it stays out of the sample
                continue
            try:
                self._ask(name, descriptor, allocated)
            finally:
                os.close(descriptor)
        if self._answer:
            return self._answer
        return NONE if self._asked_bytes >= _ENOUGH * self._all_bytes else UNKNOWN


def _flags_of(descriptor: int) -> int:
    """Return the flags of all extents of a file together; stops at the first that settles the question."""
    start = together = 0
    for _ in range(_MOST_CALLS):
        question = bytearray(_HEADER.size + _EXTENTS_PER_CALL * _EXTENT.size)
        _HEADER.pack_into(question, 0, start, 2**64 - 1 - start, 0, 0, _EXTENTS_PER_CALL, 0)
        fcntl.ioctl(descriptor, _FIEMAP, question)
        count = _HEADER.unpack_from(question)[3]
        for index in range(count):
            extent = _EXTENT.unpack_from(question, _HEADER.size + index * _EXTENT.size)
            together |= extent[5]
            start = extent[0] + extent[2]
        if not count or together & (_LAST | _SHARED | _ENCODED):
            break
    return together
