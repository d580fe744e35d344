"""Renames that never replace anything, also on filesystems where the kernel cannot promise it."""

from __future__ import annotations

import errno
import os
import stat

from artifactctl.hosts.probe.kernel import rename_noreplace

_NOT_PROMISED = (errno.ENOSYS, errno.EINVAL)


def exists(name: bytes, dir_fd: int) -> bool:
    """Whether something, a dangling link included, stands at the name."""
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def rename_privately(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes) -> None:
    """Rename into a folder of ours, where nobody else makes names: without the kernel's promise a look suffices."""
    try:
        rename_noreplace(old_dir_fd, old, new_dir_fd, new)
    except OSError as error:
        if error.errno not in _NOT_PROMISED:
            raise
        if exists(new, new_dir_fd):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(new)) from error
        os.rename(old, new, src_dir_fd=old_dir_fd, dst_dir_fd=new_dir_fd)


def rename_publicly(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes) -> None:
    """Rename into a folder where others make names. EEXIST when the new name is taken; nothing is ever replaced.

    Without the kernel's promise a folder goes over an empty folder that we just made (rename refuses when somebody
    has put something into it), anything else gets a second name first (link refuses a taken name).
    """
    try:
        rename_noreplace(old_dir_fd, old, new_dir_fd, new)
        return
    except OSError as error:
        if error.errno not in _NOT_PROMISED:
            raise
    if stat.S_ISDIR(os.stat(old, dir_fd=old_dir_fd, follow_symlinks=False).st_mode):
        os.mkdir(new, 0o700, dir_fd=new_dir_fd)
        try:
            os.rename(old, new, src_dir_fd=old_dir_fd, dst_dir_fd=new_dir_fd)
        except OSError:
            os.rmdir(new, dir_fd=new_dir_fd)
            raise
        return
    os.link(old, new, src_dir_fd=old_dir_fd, dst_dir_fd=new_dir_fd, follow_symlinks=False)
    os.unlink(old, dir_fd=old_dir_fd)
