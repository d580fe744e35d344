"""Reading a file as the disk has it: what a cache says of bytes that were just written proves nothing.

Past the cache where the filesystem offers that (O_DIRECT). Elsewhere the file's pages are dropped first, and the kernel
is asked whether they are gone: it keeps some now and then, and a filesystem in memory has nothing else.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from typing import NamedTuple, Optional

from artifactctl.hosts.probe import kernel

_PIECE_BYTES = 1 << 20
_IN_MEMORY = (0x01021994, 0x858458F6)  # tmpfs, ramfs
_NOT_OFFERED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
_WITHOUT_WAITING = getattr(os, "RWF_NOWAIT", 0)
_DIRECT = getattr(os, "O_DIRECT", 0)


class ReadBack(NamedTuple):
    """What was read back of one file: SHA-256 in hex, and whether all of it came from the device (None: unknown)."""

    digest: str
    from_device: Optional[bool]


def read_from_disk(descriptor: int) -> ReadBack:
    """Read a whole open file, fsynced before, that nobody writes to."""
    if kernel.filesystem_number(descriptor) in _IN_MEMORY:
        return ReadBack(_digest(descriptor), from_device=False)
    if _DIRECT:
        try:
            return ReadBack(_read_past_cache(descriptor), from_device=True)
        except OSError as error:
            if error.errno not in _NOT_OFFERED:
                raise
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    from_device = _is_uncached(descriptor)
    return ReadBack(_digest(descriptor), from_device)


def _read_past_cache(descriptor: int) -> str:
    """OSError EINVAL where the filesystem, or this file, cannot be read that way."""
    direct = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC | _DIRECT)
    try:
        return _digest(direct)
    finally:
        os.close(direct)


def _digest(descriptor: int) -> str:
    """Hash from the start; whole pages into a buffer that begins at a page, as O_DIRECT wants them."""
    digest, offset, size = hashlib.sha256(), 0, os.fstat(descriptor).st_size
    with mmap.mmap(-1, _PIECE_BYTES) as buffer, memoryview(buffer) as view:
        while offset < size:
            count = os.preadv(descriptor, [buffer], offset)
            if not count:
                break
            digest.update(view[:count])
            offset += count
    return digest.hexdigest()


def _is_uncached(descriptor: int) -> Optional[bool]:
    """Whether the kernel would have to wait for the device to read the file's first data; None: it does not say."""
    if not _WITHOUT_WAITING:
        return None
    try:
        start = os.lseek(descriptor, 0, os.SEEK_DATA)
        os.preadv(descriptor, [bytearray(1)], start, _WITHOUT_WAITING)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno == errno.ENXIO:  # empty, or only holes: there is nothing that a cache could hold
            return True
        if error.errno not in _NOT_OFFERED:
            raise
        return None
    return False
