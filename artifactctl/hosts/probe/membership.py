"""Taking stock of a target: every member in depth-first byte order, and the fingerprint over them.

Links are members and never followed, mounts below are an error, nothing is read but the names and the inodes. The
listing of one folder at a time is held in memory.
"""

from __future__ import annotations

import errno
import os
from typing import Iterator, List, Optional

from artifactctl.hosts.probe import kernel, walking
from artifactctl.hosts.probe.folders import FolderStack
from artifactctl.hosts.probe.manifest import Member, kind_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def members(parent_fd: int, name: bytes) -> Iterator[Member]:
    """Yield the target `name` in `parent_fd` (depth 0) and everything below; OSError when any of it cannot be seen."""
    top = _member(parent_fd, name, 0, kernel.statx(b"", parent_fd).mount_id)
    yield top
    if top.kind != "d":
        return
    with FolderStack(os.open(name, _FOLDER, dir_fd=parent_fd)) as stack:
        if (stack.status.inode, stack.status.birth_ns) != (top.inode, top.birth_ns):
            raise OSError(errno.ESTALE, "another folder stands there now", os.fsdecode(name))
        pending = [_listing(stack)]
        while pending:
            entry = next(pending[-1], None)
            if entry is None:
                pending.pop()
                stack.leave()
                continue
            member = _member(stack.descriptor, entry, stack.depth, stack.mount_id)
            yield member
            if member.kind == "d":
                _enter(stack, member)
                pending.append(_listing(stack))


def _enter(stack: FolderStack, member: Member) -> None:
    stack.enter(member.name)
    if (stack.status.inode, stack.status.birth_ns) != (member.inode, member.birth_ns):
        raise OSError(errno.ESTALE, "the folder was replaced during the walk", os.fsdecode(member.name))


def _listing(stack: FolderStack) -> Iterator[bytes]:
    listed = walking.sorted_names(stack.descriptor)
    if listed.problem:
        raise OSError(errno.EIO, listed.problem, os.fsdecode(stack.relative))
    names: List[bytes] = listed.names
    return iter(names)


def _member(folder_fd: int, name: bytes, depth: int, mount_id: Optional[int]) -> Member:
    status = kernel.statx(name, folder_fd)
    if status.mount_id is not None and status.mount_id != mount_id:
        raise OSError(errno.EXDEV, "something is mounted here", os.fsdecode(name))
    kind = kind_of(status)
    return Member(
        depth,
        kind,
        status.inode,
        status.birth_ns,
        status.size,
        status.allocated_bytes,
        status.modified_ns,
        status.changed_ns,
        status.links,
        name,
        os.readlink(name, dir_fd=folder_fd) if kind == "l" else b"",
    )
