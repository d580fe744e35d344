"""What would stop an unlink half-way: attributes, permissions, sticky folders, read-only mounts."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Any, Dict, List

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.mounts import Mount
from artifactctl.hosts.probe.surveying import Sighted, Visitor

Wire = Dict[str, Any]
MOST_EXAMPLES = 1000
PARENT = b".."
_GET_FLAGS = 0x80086601  # FS_IOC_GETFLAGS


class Obstacles(Visitor):
    """Collects obstacles of a survey; the folder that holds the target is looked at first, as `..`."""

    def __init__(self, parent: int, mount: "Mount | None") -> None:
        """`parent` is the open folder that holds the target, on `mount`."""
        self.found: List[Wire] = []
        self._user = os.geteuid()
        self._sticky = False
        self._folder_of_sticky = parent
        self._unknown_noted = False
        status = kernel.statx(b"", parent)
        if (mount is not None and mount.is_read_only) or os.fstatvfs(parent).f_flag & os.ST_RDONLY:
            self._add("read_only", b"", "the mount is read-only")
        self._attributes(PARENT, status, parent)
        self.folder(PARENT, parent, status)

    def _add(self, kind: str, path: bytes, detail: str = "") -> None:
        if len(self.found) < MOST_EXAMPLES:
            self.found.append({"kind": kind, "path": os.fsdecode(path), "detail": detail})

    def folder(self, relative: bytes, descriptor: int, status: kernel.FileStatus) -> None:
        self._sticky = bool(status.mode & stat.S_ISVTX) and self._user not in (0, status.uid)
        self._folder_of_sticky = descriptor
        if status.attributes & kernel.ATTRIBUTE_IMMUTABLE:  # said already; the kernel denies writing because of it
            return
        if not os.access(b".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
            self._add("permission", relative, f"user {self._user} may not change this folder")

    def entry(self, seen: Sighted) -> None:
        status = seen.status
        self._attributes(seen.relative, status, seen.folder)
        if self._user != 0 and self._is_in_sticky_folder(seen) and status.uid != self._user:
            self._add("sticky", seen.relative, f"owned by user {status.uid} in a sticky folder")

    def _is_in_sticky_folder(self, seen: Sighted) -> bool:
        if seen.folder != self._folder_of_sticky:
            around = os.fstat(seen.folder)
            self._sticky = bool(around.st_mode & stat.S_ISVTX) and around.st_uid != self._user
            self._folder_of_sticky = seen.folder
        return self._sticky

    def _attributes(self, relative: bytes, status: kernel.FileStatus, folder: int) -> None:
        if status.attributes & kernel.ATTRIBUTE_IMMUTABLE:
            self._add("immutable", relative, "chattr +i")
        if status.attributes & kernel.ATTRIBUTE_APPEND:
            self._add("append_only", relative, "chattr +a")
        known = status.attributes_mask & kernel.ATTRIBUTE_IMMUTABLE
        if not known and not self._unknown_noted and _could_have_attributes(folder):
            self._unknown_noted = True
            self._add("attributes_unknown", relative, "the kernel does not say whether it is immutable")


def _could_have_attributes(folder: int) -> bool:
    """Whether the filesystem has attributes at all, asked by the older interface."""
    try:
        fcntl.ioctl(folder, _GET_FLAGS, bytes(8))
    except OSError as error:
        return error.errno not in (errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
    return True
