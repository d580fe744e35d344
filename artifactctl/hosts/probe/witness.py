"""Witnessing our own acts on inodes with several names, so that `own_changes` can prove them ours.

Status before and after is taken through a descriptor that holds the kernel's write lease meanwhile, which nobody can
get past with a write, a truncation or a mapping. After the act the lease is kept until the clock that stamps files has
moved on, so that whatever comes later bears a later ctime. A symbolic link needs no lease: what it says cannot be
changed in place. Where no lease is to be had, nothing is recorded and nothing proven, save of a target that is a file.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, Optional

from artifactctl.hosts.probe import kernel, leases
from artifactctl.hosts.probe.kernel import FileStatus
from artifactctl.hosts.probe.own_changes import Change, append
from artifactctl.hosts.probe.rootfolder import RootFolder

_CLOCK_REALTIME_COARSE = 5  # linux/time.h; what the kernel stamps files with, or behind it
_MOST_PENDING = 64
_LONGEST_WAIT_SECONDS = 0.1
_LONGEST_HOLD_SECONDS = 0.05  # for so long an open of another name may have to wait
_LINK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class _Held:
    """A file or link that is held open until its change is settled; several acts on one inode are one change."""

    def __init__(self, descriptor: int, *, is_whole: bool) -> None:
        self.descriptor = os.dup(descriptor)
        self.is_whole = is_whole
        self.before = self.after = kernel.statx(b"", self.descriptor)
        self.unbroken = True

    def see(self, act: Callable[[], None]) -> None:
        self.unbroken = self.is_as_left()
        act()
        self.after = kernel.statx(b"", self.descriptor)

    def is_as_left(self) -> bool:
        """Whether nobody else changed it since our last act."""
        now = kernel.statx(b"", self.descriptor)._replace(accessed_ns=self.after.accessed_ns)
        return self.unbroken and now == self.after

    def change(self) -> Optional[Change]:
        """Return what we did to it; None when it has no other name left, or others had a hand in it."""
        if not self.after.links or not self.is_as_left():
            return None
        return Change.between(self.before, self.after, is_whole=self.is_whole)


class Witness:
    """Carries acts out and records what they did to inodes that have other names. `settle` ends it."""

    def __init__(self, root: RootFolder, *, most_pending: int = _MOST_PENDING) -> None:
        self._root = root
        self._most_pending = most_pending
        self._pending: Dict[int, _Held] = {}
        self._since = 0.0

    def see(self, folder_fd: int, name: bytes, status: FileStatus, act: Callable[[], None]) -> None:
        """Do `act`, which renames or unlinks what `status` is of; OSError is that of the act."""
        known = self._pending.get(status.inode)
        if known is not None:
            known.see(act)
            return
        descriptor = _hold(folder_fd, name) if status.links > 1 and not status.is_directory else None
        try:
            self.see_if_held(descriptor, act)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def see_whole(self, folder_fd: int, name: bytes, leased: Optional[int], act: Callable[[], None]) -> None:
        """The same for a target on its way into quarantine; a file is recorded with one name as well.

        `leased` is its descriptor where the caller holds the write lease. Where none can be had (another machine's
        filesystem) the status before and after stands alone for a file with one name, for which nobody else is proven
        anything by it: without that no file could ever be set aside there.
        """
        descriptor = os.open(name, _LINK, dir_fd=folder_fd) if leased is None else leased
        try:
            status = kernel.statx(b"", descriptor)
            is_whole = status.is_regular and (leased is not None or status.links == 1)
            self.see_if_held(descriptor if is_whole else leased, act, is_whole=is_whole)
        finally:
            if leased is None:
                os.close(descriptor)

    def see_if_held(self, descriptor: Optional[int], act: Callable[[], None], *, is_whole: bool = False) -> None:
        """The same for an open link, or a file whose write lease the caller holds; None when it has none."""
        held = None if descriptor is None else _Held(descriptor, is_whole=is_whole)
        if held is None:
            act()
            return
        if not self._pending:
            self._since = time.monotonic()
        self._pending[held.before.inode] = held
        held.see(act)
        if len(self._pending) >= self._most_pending:
            self.settle()

    def settle_old(self) -> None:
        """Settle when a file has been held long enough."""
        if self._pending and time.monotonic() - self._since > _LONGEST_HOLD_SECONDS:
            self.settle()

    def settle(self) -> None:
        """Record what is proven and let go of every file."""
        pending, self._pending = list(self._pending.values()), {}
        try:
            shared = [held for held in pending if held.before.links > 1 or held.is_whole]
            if shared and _clock_passes(max(held.after.changed_ns for held in shared)):
                changes = [held.change() for held in shared]
                append(self._root, [change for change in changes if change is not None])
        finally:
            for held in pending:
                os.close(held.descriptor)


@contextmanager
def witnessing(root: RootFolder) -> Iterator[Witness]:
    """Yield a witness for a single act and let it settle."""
    witness = Witness(root)
    try:
        yield witness
    finally:
        witness.settle()


def _hold(folder_fd: int, name: bytes) -> Optional[int]:
    """Return a descriptor of a file with its write lease, or of a link; None when there is no proof to be had."""
    try:
        if kernel.statx(name, folder_fd).is_symlink:
            return os.open(name, _LINK, dir_fd=folder_fd)
        descriptor = leases.open_for_lease(name, folder_fd)
    except OSError:  # in use, or not ours to ask about
        return None
    try:
        leases.take(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _clock_passes(moment_ns: int) -> bool:
    """Wait until files are stamped later than `moment_ns`; False when that takes too long (another clock)."""
    deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
    while time.clock_gettime_ns(_CLOCK_REALTIME_COARSE) <= moment_ns:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
