"""The kernel's own answer to "does anybody use this": write leases on files, flock on files and folders.

A write lease is granted only while nobody else has the file open or mapped, in whatever namespace, container, ring
or message in flight. It is held for microseconds. Should somebody open the file meanwhile, the kernel makes that
open wait and signals the holder: with SIGIO by default, which kills; here with SIGURG, which nobody notices.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from typing import Dict, List

GRANTED, REFUSED, NO_ANSWER = "granted", "refused", "no_answer"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EISDIR)  # ENOSYS: Lustre without them
_BUSY = (errno.EAGAIN, errno.ETXTBSY)


def open_for_lease(name: bytes, folder: int) -> int:
    """Open a regular file without waiting, following or touching its access time (where that is permitted).

    EAGAIN: somebody else holds a lease on it.
    """
    try:
        return os.open(name, _FLAGS | os.O_NOATIME, dir_fd=folder)
    except PermissionError:
        return os.open(name, _FLAGS, dir_fd=folder)


def take(descriptor: int, kind: int = fcntl.F_WRLCK) -> None:
    """Take a lease; EACCES or EINVAL when there is no answer.

    EAGAIN: somebody else has the file open (F_WRLCK), or anybody has it open or mapped for writing (F_RDLCK).
    """
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, kind)


def give_back(descriptor: int) -> None:
    """Release the lease: whoever waits to open the file goes on."""
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def probe(name: bytes, folder: int, kind: int = fcntl.F_WRLCK) -> str:
    """Return GRANTED, REFUSED or NO_ANSWER (not the owner, not readable, not offered) for a regular file."""
    try:
        descriptor = open_for_lease(name, folder)
    except OSError as error:
        return REFUSED if error.errno in _BUSY else NO_ANSWER
    try:
        take(descriptor, kind)
    except OSError as error:
        return REFUSED if error.errno in _BUSY else NO_ANSWER
    finally:
        os.close(descriptor)  # which gives the lease back
    return GRANTED


class LockTable:
    """The flocks in /proc/locks by inode number: device numbers there are not st_dev on btrfs.

    `is_complete` is false where locks of processes outside of our PID namespace are left out.
    """

    def __init__(self, *, in_first_namespace: bool) -> None:
        self.holders: Dict[int, List[int]] = {}
        self.is_complete = in_first_namespace
        try:
            with open("/proc/locks", encoding="ascii", errors="replace") as text:
                lines = text.read().splitlines()
        except OSError:  # then every folder is asked itself
            self.is_complete = False
            return
        for line in lines:
            fields = line.split()
            if "->" in fields or len(fields) < 6 or fields[1] != "FLOCK":
                continue
            inode = int(fields[5].rpartition(":")[2])
            self.holders.setdefault(inode, []).append(int(fields[4]))


def is_flocked(descriptor: int) -> bool:
    """Whether somebody holds a flock, shared or exclusive, on what is open; tries to take one for an instant.

    NFS gives an exclusive one only on what is open for writing. A shared one still meets the exclusive ones of others.
    """
    for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                return True
            if error.errno == errno.EBADF:
                continue
            if error.errno in _NO_LOCKS:
                return False
            raise
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False
    return False
