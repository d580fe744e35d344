"""Writing so that it is still there after a power cut, also into files that were written ahead of need.

On a full disk only an overwrite of blocks that already exist succeeds (on btrfs only where copy-on-write is off), so
the files an operation needs are filled in advance and overwritten in place; their readers recognise a torn overwrite.
"""

from __future__ import annotations

import errno
import os
from typing import List

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.rootfolder import give_to_owner

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def write_all(descriptor: int, content: bytes, offset: int) -> None:
    """pwrite until everything is written."""
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def flush_folder(descriptor: int) -> None:
    """fsync an open folder; where a filesystem has no fsync for folders, flush all of it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
        kernel.syncfs(descriptor)


def read_all(descriptor: int) -> bytes:
    """Return the whole content of an open file."""
    chunks: List[bytes] = []
    offset = 0
    while True:
        chunk = os.pread(descriptor, 1 << 20, offset)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        offset += len(chunk)


def read_file(name: bytes, dir_fd: int) -> bytes:
    """Return a file's content; FileNotFoundError when there is none, ELOOP when it is a link."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return read_all(descriptor)
    finally:
        os.close(descriptor)


def fill_file(name: bytes, dir_fd: int, fill: bytes, length: int) -> None:
    """Create a file of `length` really written bytes and fsync it; removed again when that fails."""
    descriptor = os.open(name, _NEW, 0o600, dir_fd=dir_fd)
    try:
        give_to_owner(descriptor, dir_fd)
        write_all(descriptor, fill * (length // len(fill)), 0)
        os.fsync(descriptor)
    except OSError:
        os.unlink(name, dir_fd=dir_fd)
        raise
    finally:
        os.close(descriptor)


def open_to_overwrite(name: bytes, dir_fd: int) -> int:
    """Open a file that may have been filled ahead of need, or create it."""
    descriptor = os.open(name, _KEPT, 0o600, dir_fd=dir_fd)
    give_to_owner(descriptor, dir_fd)
    return descriptor


def overwrite_file(name: bytes, dir_fd: int, content: bytes, fill: bytes) -> None:
    """Write `content` over a file's beginning, `fill` over the rest of what it held, fsync. Not atomic: see above."""
    descriptor = open_to_overwrite(name, dir_fd)
    try:
        rest = max(0, os.fstat(descriptor).st_size - len(content))
        write_all(descriptor, content + fill * rest, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(name: bytes, dir_fd: int, content: bytes) -> None:
    """Let the file be born complete: temporary name, fsync, rename, fsync of the folder."""
    temporary = name + b".next"
    overwrite_file(temporary, dir_fd, content, b"\n")
    os.rename(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    flush_folder(dir_fd)
