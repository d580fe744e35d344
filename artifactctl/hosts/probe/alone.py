"""Having a single file to ourselves for the moment of its rename.

The kernel grants a write lease only when nobody else has the file open or mapped, and makes a new opener wait while
it is held (fcntl_locking F_SETLEASE). Folders have no leases.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from contextlib import contextmanager
from typing import Iterator, Optional

from artifactctl.hosts.probe import folders

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_GRANTABLE = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOLCK)


class InUse(Exception):
    """Somebody else has the file open or mapped."""


@contextmanager
def held_alone(parent_fd: int, name: bytes) -> Iterator[Optional[int]]:
    """Hold the write lease of a regular file meanwhile and yield its descriptor; InUse when the kernel refuses it.

    None where no lease can be had (a folder, another owner's file, a filesystem without leases): the look after the
    rename is the authoritative one.
    """
    seen = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    if not stat.S_ISREG(seen.st_mode):
        yield None
        return
    try:
        descriptor = folders.open_quietly(name, _FLAGS, parent_fd)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ETXTBSY):
            raise InUse(os.fsdecode(name)) from error
        if error.errno not in _NOT_GRANTABLE:
            raise
        yield None
        return
    try:
        yield descriptor if _lease(descriptor, name) else None
    finally:
        os.close(descriptor)


def _lease(descriptor: int, name: bytes) -> bool:
    """Take the lease; False when none can be had.

    Whoever opens meanwhile is announced by a signal: SIGURG, which by default does nothing.
    """
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            raise InUse(os.fsdecode(name)) from error
        if error.errno not in _NOT_GRANTABLE:
            raise
        return False
    return True
