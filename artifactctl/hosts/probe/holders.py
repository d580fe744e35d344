"""Who uses a file or tree: processes, mounts, devices, locks, and the kernel's own answer by write lease."""

from __future__ import annotations

import os
from typing import Optional

from artifactctl.hosts.probe import blindness, kernel, leases
from artifactctl.hosts.probe.mounts import Mount, join, relative_to
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.surveying import Sighted
from artifactctl.hosts.probe.uses import Use
from artifactctl.hosts.probe.using import UseLook

_LOCK_SUFFIX = b".lock"


class HolderLook(UseLook):
    """Every use counts. `parent` is the open folder that holds the target."""

    def __init__(self, location: bytes, mount: Optional[Mount], parent: int) -> None:
        super().__init__(location, mount)
        self._locks = leases.LockTable(in_first_namespace=blindness.in_first_pid_namespace())
        self._sidecar(parent)

    def _look_at_mount_tables(self, namespaces: Namespaces, mount: Mount) -> None:
        inner = join(mount.root, relative_to(self._location, mount.point))
        for use in namespaces.uses_of(mount.device, inner, self._location):
            self._hold(Use("mount", use.process, use.detail), use.relative)

    def _counts(self, use: Use) -> bool:
        return True

    def _probe(self, seen: Sighted) -> str:
        return leases.probe(seen.name, seen.folder)

    def _asked(self, seen: Sighted, answer: str, *, named: bool) -> None:
        if answer == leases.REFUSED and not named:
            text = "the kernel refused a write lease: somebody has it open"
            self._hold(Use("kernel_lease", None, text), seen.relative)
        if seen.status.inode in self._locks.holders or answer == leases.NO_ANSWER:
            self._ask_for_flock(seen)

    def _sidecar(self, parent: int) -> None:
        """`flock TARGET.lock cmd` counts as a lock on the target."""
        name = os.path.basename(self._location) + _LOCK_SUFFIX
        try:
            descriptor = leases.open_for_lease(name, parent)
        except OSError:  # none there, or not ours to open: there is no way to ask
            return
        try:
            if leases.is_flocked(descriptor):
                self._flocked(b"", os.fstat(descriptor).st_ino, f"the lock is on {os.fsdecode(name)}")
        finally:
            os.close(descriptor)

    def _flocked(self, relative: bytes, inode: int, detail: str = "") -> None:
        for process in self._locks.holders.get(inode) or [0]:
            self._hold(Use("flock", process if process > 0 else None, detail), relative)

    def _ask_for_flock(self, seen: Sighted) -> None:
        try:
            descriptor = leases.open_for_lease(seen.name, seen.folder)
        except OSError:  # counted as a missing lease already
            return
        try:
            if leases.is_flocked(descriptor):
                self._flocked(seen.relative, seen.status.inode)
        finally:
            os.close(descriptor)

    def folder(self, relative: bytes, descriptor: int, status: kernel.FileStatus) -> None:
        """Locks of other machines are in no table here: on a shared filesystem every folder is asked."""
        known = self._locks.is_complete and not self._is_shared
        if known and status.inode not in self._locks.holders:
            return
        if leases.is_flocked(descriptor):
            self._flocked(relative, status.inode)
