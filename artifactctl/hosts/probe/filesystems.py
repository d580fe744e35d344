"""A name for a filesystem that is the same after a remount, on another mount point and inside a container.

Asked in this order, first answer wins: the generic ioctl FS_IOC_GETFSUUID (Linux 6.9), the ioctls of btrfs, xfs and
ext4, the links of udev, the superblock on the device. None of the ioctls needs privilege. All give the same UUID.

Where there is no UUID the name is derived and begins with the type: network filesystems from their source (the same
on every client), as FUSE ones whose source names a server (`host:/path`); everything else from source, the mount's
device number and boot id, since its content does not outlive the mount or its mount cannot be recognised again.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import struct
import uuid
from typing import Callable, Optional, Tuple

from artifactctl.hosts.probe import mounts

_GET_FS_UUID = 0x80111500
_GET_FS_UUID_BYTES = 17
_BTRFS_FS_INFO = 0x8400941F
_BTRFS_FS_INFO_BYTES = 1024
_XFS_GEOMETRY = 0x8070587C  # XFS_IOC_FSGEOMETRY_V1
_XFS_GEOMETRY_BYTES = 112
_EXT4_GET_UUID = 0x8008662C
_NOT_OFFERED = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EACCES)

LOCAL_TYPES_WITH_LEASES = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs"))


def boot_id() -> str:
    """Return the random id of this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as text:
        return text.read().strip()


def identify(descriptor: int, mount: Optional[mounts.Mount]) -> str:
    """Return the filesystem's name; `descriptor` is open for reading on it (not O_PATH)."""
    for source in (_generic, _btrfs, _xfs, _ext4):
        found = _asked(source, descriptor)
        if found:
            return found
    device = os.fstat(descriptor).st_dev
    if os.major(device) != 0:
        found = _from_udev(device) or _from_superblock(device)
        if found:
            return found
    return _derived(mount, str(device))


def of_network(mount: mounts.Mount) -> str:
    """Return the name of a filesystem that must not be touched since it may not answer."""
    return _derived(mount)


def _asked(source: Callable[[int], Optional[bytes]], descriptor: int) -> str:
    try:
        answer = source(descriptor)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        return ""
    return str(uuid.UUID(bytes=answer)) if answer and any(answer) else ""


def _generic(descriptor: int) -> Optional[bytes]:
    answer = fcntl.ioctl(descriptor, _GET_FS_UUID, bytes(_GET_FS_UUID_BYTES))
    return answer[1:17] if answer[0] == 16 else None


def _btrfs(descriptor: int) -> Optional[bytes]:
    return fcntl.ioctl(descriptor, _BTRFS_FS_INFO, bytes(_BTRFS_FS_INFO_BYTES))[16:32]


def _xfs(descriptor: int) -> Optional[bytes]:
    # struct xfs_fsop_geom_v1: seven u32, u32 imaxpct, four u64, then the uuid
    return fcntl.ioctl(descriptor, _XFS_GEOMETRY, bytes(_XFS_GEOMETRY_BYTES))[64:80]


def _ext4(descriptor: int) -> Optional[bytes]:
    return fcntl.ioctl(descriptor, _EXT4_GET_UUID, struct.pack("=II", 16, 0) + bytes(16))[8:24]


def _from_udev(device: int) -> str:
    folder = "/dev/disk/by-uuid"
    if not os.path.isdir(folder):
        return ""
    for name in sorted(os.listdir(folder)):
        try:
            if os.stat(os.path.join(folder, name)).st_rdev == device:
                return name.lower()
        except FileNotFoundError:  # the device went away meanwhile
            continue
    return ""


def _from_superblock(device: int) -> str:
    """Read the UUID from the block device: root only, for kernels without the ioctls."""
    path = f"/dev/block/{os.major(device)}:{os.minor(device)}"
    try:
        with open(path, "rb", buffering=0) as blocks:
            start = os.pread(blocks.fileno(), 2048, 0)
    except (FileNotFoundError, PermissionError):
        return ""
    if start[:4] == b"XFSB":
        return str(uuid.UUID(bytes=start[32:48]))
    if start[1024 + 0x38 : 1024 + 0x3A] == b"\x53\xef":
        return str(uuid.UUID(bytes=start[1024 + 0x68 : 1024 + 0x78]))
    return ""


def _derived(mount: Optional[mounts.Mount], device: str = "") -> str:
    """`device` is st_dev in decimal; of a mount that must not be touched only the mount table tells a number."""
    kind, source = (mount.type, mount.source) if mount else ("unknown", "")
    if mount is not None and (mount.type in mounts.NETWORK_TYPES or _names_a_server(mount)):
        parts: Tuple[str, ...] = (source,)
    elif mount is not None and mount.is_remote:
        parts = (source, mount.device, boot_id())
    else:
        parts = (source, device, boot_id())
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{kind}-{digest[:32]}"


def _names_a_server(mount: mounts.Mount) -> bool:
    """Whether a FUSE filesystem comes from a place that has the same name at the next mount (`gluster1:/volume`).

    That of ceph-fuse has one name for every cluster, which tells it from other filesystems at least.
    """
    if mount.type in ("fuse.ceph-fuse", "fuse.ceph"):
        return True
    server, colon, _ = mount.source.partition(":")
    return mount.is_remote and bool(colon) and "/" not in server
