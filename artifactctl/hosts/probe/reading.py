"""Content of regular files: never a link, never a device, never waiting for a writer."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import Callable, Optional

from artifactctl.hosts.probe import folders

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE_BYTES = 1024 * 1024


def open_regular(path: bytes) -> int:
    """Open a regular file by a path of any length; EINVAL when it is something else."""
    folder, name = folders.split_path(os.path.abspath(path))
    parent = folders.open_folder(folder + b"/.")
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
        descriptor = folders.open_quietly(name, _FLAGS, parent)
    finally:
        os.close(parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # replaced in between
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
    return descriptor


def read_range(path: bytes, offset: int, length: int) -> bytes:
    """Return up to `length` bytes at `offset`; fewer at the end of the file."""
    descriptor = open_regular(path)
    try:
        pieces = []
        while length > 0:
            piece = os.pread(descriptor, min(length, _PIECE_BYTES), offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def digest(path: bytes, progress: Optional[Callable[[int], None]] = None) -> str:
    """Return the SHA-256 in hex; `progress` is told the bytes read so far."""
    sum_so_far = hashlib.sha256()
    buffer = bytearray(_PIECE_BYTES)
    done = 0
    with open(open_regular(path), "rb", buffering=0) as file:
        while True:
            count = file.readinto(buffer)
            if not count:
                return sum_so_far.hexdigest()
            sum_so_far.update(memoryview(buffer)[:count])
            done += count
            if progress is not None:
                progress(done)
