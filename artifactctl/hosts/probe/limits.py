"""What bounds a writer besides free blocks: quotas, sparse or thin devices below, the fullest part of a pool."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from typing import Any, Dict, List, Optional

from artifactctl.hosts.probe import kernel, lustre, mounts

Wire = Dict[str, Any]

_BTRFS_INO_LOOKUP = 0xD0009412
_BTRFS_FIRST_FREE_OBJECT = 256
_GET_XATTR = 0x801C581F  # FS_IOC_FSGETXATTR: xflags, extsize, nextents, projid, cowextsize
_Q_GETQUOTA = 0x800007
_QUOTA_TYPES = (("user", 0), ("group", 1), ("project", 2))
_NO_QUOTA = (
    errno.ESRCH,
    errno.ENOSYS,
    errno.ENOTTY,
    errno.EOPNOTSUPP,
    errno.EINVAL,
    errno.ENOTBLK,
    errno.ENOENT,
    errno.ENODEV,
    errno.EPERM,  # the quota of a project may be root's to know; what binds us alone is still asked
    errno.EACCES,
    errno.EROFS,  # on a read-only mount the kernel tells no quota, and none binds
)


def limit(
    name: str, available_bytes: Optional[int], *, available_inodes: Optional[int] = None, detail: str = ""
) -> Wire:
    """Return one limit in wire form."""
    return {
        "name": name,
        "available_bytes": available_bytes,
        "available_inodes": available_inodes,
        "detail": detail,
    }


def flush(descriptor: int) -> None:
    """Write the filesystem to its device; a kernel without syncfs writes all of them."""
    try:
        kernel.syncfs(descriptor)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EBADF, errno.EROFS):
            raise
        os.sync()


def limits_of(mount: mounts.Mount, descriptor: Optional[int], uuid: str, used_bytes: int, *, path: bytes) -> List[Wire]:
    """Return the limits of the filesystem at `mount` for this user who writes to `path`.

    `descriptor` is open on it, None: do not touch.
    """
    found: List[Wire] = []
    if mount.type == "lustre":
        found += lustre.limits_of(mount.point, path)
    if descriptor is None:
        return found
    if mount.type == "btrfs":
        found += _btrfs_qgroup(descriptor, uuid)
    else:
        found += _quotas(descriptor, mount)
    found += _sparse_backing(mount, used_bytes)
    return found


def is_thin(mount: mounts.Mount, found: List[Wire]) -> bool:
    """Whether blocks below are promised but not there: a sparse image, or a thin volume of the device mapper."""
    if any(known["name"] == "backing file" for known in found):
        return True
    slaves = f"/sys/dev/block/{mount.device}/slaves"
    if not os.path.isdir(slaves):
        return False
    for slave in os.listdir(slaves):
        name = _read_text(os.path.join(slaves, slave, "dm/name"))
        if name.endswith(("-tpool", "_tpool")):
            return True
    return False


def _read_text(path: str) -> str:
    """Return the stripped content of a file of /sys, "" when there is none or it is not ours to read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as text:
            return text.read().strip()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EACCES, errno.ENODEV, errno.ENOTDIR, errno.EINVAL):
            raise
        return ""


def _btrfs_qgroup(descriptor: int, uuid: str) -> List[Wire]:
    """The limits of the subvolume's own qgroup (level 0); those of groups of groups are not readable without root."""
    question = bytearray(struct.pack("=QQ", 0, _BTRFS_FIRST_FREE_OBJECT).ljust(4096, b"\0"))
    try:
        fcntl.ioctl(descriptor, _BTRFS_INO_LOOKUP, question)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOTTY):
            raise
        return []
    subvolume = struct.unpack_from("=Q", question)[0]
    folder = f"/sys/fs/btrfs/{uuid}/qgroups/0_{subvolume}"
    found = []
    for promised, taken in (("max_referenced", "referenced"), ("max_exclusive", "exclusive")):
        most, now = _read_text(f"{folder}/{promised}"), _read_text(f"{folder}/{taken}")
        flags = _read_text(f"{folder}/limit_flags")
        bit = 1 if promised == "max_referenced" else 2
        if most.isdigit() and now.isdigit() and flags.isdigit() and int(flags) & bit:
            name = f"btrfs qgroup 0/{subvolume} {taken}"
            found.append(limit(name, max(0, int(most) - int(now)), detail=f"{now} of {most} bytes"))
    return found


def _quotas(descriptor: int, mount: mounts.Mount) -> List[Wire]:
    found = []
    for kind, number in _QUOTA_TYPES:
        identity = _quota_identity(kind, descriptor)
        if identity is None:
            continue
        try:
            answer = _ask_quota(descriptor, mount, number, identity)
        except OSError as error:
            if error.errno not in _NO_QUOTA:
                raise
            continue
        hard_kib, _, current_bytes, hard_inodes, _, current_inodes = struct.unpack_from("=6Q", answer)
        if hard_kib or hard_inodes:
            found.append(
                limit(
                    f"{kind} quota",
                    max(0, hard_kib * 1024 - current_bytes) if hard_kib else None,
                    available_inodes=max(0, hard_inodes - current_inodes) if hard_inodes else None,
                    detail=f"{kind} {identity}",
                )
            )
    return found


def _quota_identity(kind: str, descriptor: int) -> Optional[int]:
    if kind == "user":
        return os.geteuid()
    if kind == "group":
        return os.getegid()
    try:
        return int(struct.unpack_from("=4I", fcntl.ioctl(descriptor, _GET_XATTR, bytes(28)))[3]) or None
    except OSError as error:
        if error.errno not in _NO_QUOTA:
            raise
        return None


def _ask_quota(descriptor: int, mount: mounts.Mount, number: int, identity: int) -> bytes:
    buffer = ctypes.create_string_buffer(128)
    command = ctypes.c_uint((_Q_GETQUOTA << 8) | number)
    try:
        kernel.numbered_call("quotactl_fd", ctypes.c_uint(descriptor), command, ctypes.c_int(identity), buffer)
    except OSError as error:
        if error.errno != errno.ENOSYS or not mount.source.startswith("/dev/"):
            raise
        device = ctypes.c_char_p(os.fsencode(mount.source))
        kernel.numbered_call("quotactl", command, device, ctypes.c_int(identity), buffer)
    return buffer.raw


def _sparse_backing(mount: mounts.Mount, used_bytes: int) -> List[Wire]:
    """A loop device on a sparse file takes blocks from the filesystem below as it is written."""
    if not mount.source.startswith("/dev/loop"):
        return []
    backing = _read_text(f"/sys/dev/block/{mount.device}/loop/backing_file") or _read_text(
        f"/sys/block/{os.path.basename(mount.source)}/loop/backing_file"
    )
    try:
        image = os.stat(backing)
        below = os.statvfs(os.path.dirname(backing) or "/")
    except FileNotFoundError:  # the image was deleted, or lies in another mount namespace
        return []
    except PermissionError:
        return [limit("backing file", None, detail=f"{backing} may not be looked at")]
    allocated = image.st_blocks * 512
    if allocated >= image.st_size:
        return []
    already_there = max(0, allocated - used_bytes)
    return [
        limit(
            "backing file",
            below.f_bavail * below.f_frsize + already_there,
            detail=f"{backing} is sparse: {allocated} of {image.st_size} bytes are there",
        )
    ]
