"""Which btrfs subvolume something lies in. A snapshot has the filesystem, inodes and birth times of its original.

Asked by BTRFS_IOC_GET_SUBVOL_INFO (Linux 4.18), which needs no privilege. Subvolumes of very old kernels have no UUID
of their own: there the number of the subvolume stands in for it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import uuid
from typing import NamedTuple, Optional

from artifactctl.hosts.probe import kernel

UNKNOWN = "unknown"
TOP_INODE = 256
"""The inode number of the top of every subvolume."""
_BTRFS = 0x9123683E
_GET_SUBVOL_INFO = 0x81F8943C
_INFO_BYTES = 504
_UUID, _PARENT_UUID, _MADE_IN_TRANSACTION = 296, 312, 352  # offsets in struct btrfs_ioctl_get_subvol_info_args
_NOT_OFFERED = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EACCES)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Subvolume(NamedTuple):
    """A subvolume; `name` is UNKNOWN where the kernel does not tell. `transaction` is the one that made it."""

    name: str
    is_snapshot: bool
    transaction: int


def holding(descriptor: int) -> Optional[Subvolume]:
    """Return the subvolume of an open file or folder (not O_PATH), None on a filesystem that has none."""
    if kernel.filesystem_number(descriptor) != _BTRFS:
        return None
    try:
        answer = fcntl.ioctl(descriptor, _GET_SUBVOL_INFO, bytes(_INFO_BYTES))
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        return Subvolume(UNKNOWN, is_snapshot=False, transaction=0)
    own = answer[_UUID : _UUID + 16]
    number = struct.unpack_from("=Q", answer)[0]
    name = str(uuid.UUID(bytes=own)) if any(own) else f"number-{number}"
    parent = answer[_PARENT_UUID : _PARENT_UUID + 16]
    return Subvolume(name, any(parent), struct.unpack_from("=Q", answer, _MADE_IN_TRANSACTION)[0])


def name_of(descriptor: int) -> str:
    """Return the name of the subvolume of an open file or folder, "" on a filesystem that has none."""
    found = holding(descriptor)
    return "" if found is None else found.name


def name_at(dir_fd: int, name: bytes, status: kernel.FileStatus) -> str:
    """Return the name of the subvolume of what stands at `name`: its own where it is the top of one."""
    if not status.is_directory or status.inode != TOP_INODE:
        return name_of(dir_fd)
    descriptor = os.open(name or b".", _FOLDER, dir_fd=dir_fd)
    try:
        return name_of(descriptor)
    finally:
        os.close(descriptor)
