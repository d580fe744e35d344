"""Where a target could be set aside, found by looking only: nothing is created.

A rename stays within one mount, one btrfs subvolume and one quota project, and it must stay within the same quota
realm: where the root's own folder is in another one, only a folder beside the target works.
"""

from __future__ import annotations

import errno
import fcntl
import struct
from typing import Any, Dict

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, printable

_GET_PROJECT = 0x801C581F  # FS_IOC_FSGETXATTR
_XATTR = struct.Struct("=IIIII8s")  # flags, extent size, extents, project, cow extent size, padding
_INHERITS_PROJECT = 0x200
_NO_PROJECTS = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


def placement(root: RootFolder, relative: bytes) -> Dict[str, Any]:
    """Return `possible`, `sibling` and a `detail` for a person."""
    shown = printable(relative)
    try:
        parent_fd, name = root.open_parent(relative)
    except OSError as error:
        if error.errno == errno.EXDEV:
            return _answer(f"{shown} lies on another mount than its root")
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return _answer(f"{shown} is reached through a link")
        if error.errno == errno.ENOENT:
            return _answer(f"the folder of {shown} does not exist")
        raise
    with closing(parent_fd):
        return _place(root, parent_fd, name, shown)


def _place(root: RootFolder, parent_fd: int, name: bytes, shown: str) -> Dict[str, Any]:
    try:
        target = kernel.statx(name, parent_fd)
    except FileNotFoundError:
        return _answer(f"{shown} does not exist")
    if target.attributes & kernel.ATTRIBUTE_MOUNT_ROOT or _mount_differs(target, parent_fd):
        return _answer(f"{shown} is a mount point")
    if kernel.statx(b"", parent_fd).device != kernel.statx(b"", root.quarantine_fd).device:
        return _answer("its folder is another subvolume than the root's: it goes to a folder beside it", sibling=True)
    project, _ = _project(parent_fd)
    there, inherits = _project(root.quarantine_fd)
    if inherits and project != there:
        return _answer(f"its folder is in quota project {project}, the root's own in {there}", sibling=True)
    return {"possible": True, "sibling": False, "detail": "the root's own quarantine folder"}


def _answer(detail: str, *, sibling: bool = False) -> Dict[str, Any]:
    return {"possible": sibling, "sibling": sibling, "detail": detail}


def _mount_differs(target: kernel.FileStatus, parent_fd: int) -> bool:
    parent = kernel.statx(b"", parent_fd).mount_id
    return None not in (target.mount_id, parent) and target.mount_id != parent


def _project(descriptor: int) -> "tuple[int, bool]":
    """Return (quota project of a folder, whether it takes in only what is in the same); (0, False) without projects."""
    try:
        answer = fcntl.ioctl(descriptor, _GET_PROJECT, bytes(_XATTR.size))
    except OSError as error:
        if error.errno not in _NO_PROJECTS:
            raise
        return 0, False
    flags, _, _, project, _, _ = _XATTR.unpack(answer)
    return project, bool(flags & _INHERITS_PROJECT)
