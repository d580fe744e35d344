"""Who uses a file or tree: processes, mounts, devices, locks, and the kernel's own answer by write lease."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Set, Tuple

from artifactctl.hosts.probe import blindness, devices, filesystems, kernel, leases, mounts, processes
from artifactctl.hosts.probe.mounts import Mount, join, relative_to
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.surveying import Sighted, Visitor
from artifactctl.hosts.probe.uses import Use, UseTable, command_of

Wire = Dict[str, Any]
MOST_HOLDERS = 1000
_LOCK_SUFFIX = b".lock"
_PUT_ON_TAPE = frozenset(("lustre", "gpfs"))


class HolderLook(Visitor):
    """Looks at all processes when it is made, at every member during a survey; `report` gives the result.

    `location` is the target's resolved absolute path, `mount` the mount its folder lies on, `parent` that open folder.
    """

    def __init__(self, location: bytes, mount: Optional[Mount], parent: int) -> None:
        self._location = location
        self._mount = mount
        self._holders: List[Wire] = []
        self._seen: Set[Tuple[str, bytes, Optional[int]]] = set()
        self._candidates = self._granted = self._refused = self._on_tape = 0
        self._not_ours, self._first_not_ours = 0, (b"", 0)
        self._uses = UseTable()
        self._spots: List[Wire] = []
        self._locks = leases.LockTable(in_first_namespace=blindness.in_first_pid_namespace())
        devices.note_loop_devices(self._uses)
        devices.note_swap(self._uses)
        self._look_at_processes(mount)
        self._sidecar(parent)

    def _look_at_processes(self, mount: Optional[Mount]) -> None:
        try:
            namespaces = Namespaces()
            processes.ProcessLook(self._uses, namespaces, mount.device if mount else "").run()
        except OSError as error:
            self._uses.unreadable.append(f"/proc: {error.strerror or error}")
            return
        if namespaces.unreadable:
            self._uses.unreadable.append(f"the mount tables of {namespaces.unreadable} processes")
        if mount is None:
            self._uses.unreadable.append("the mount that holds the target")
            return
        inner = join(mount.root, relative_to(self._location, mount.point))
        for use in namespaces.uses_of(mount.device, inner, self._location):
            self._hold(Use("mount", use.process, use.detail), use.relative)

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

    def _hold(self, use: Use, relative: bytes) -> None:
        key = (use.kind, relative, use.process)
        if key in self._seen or len(self._holders) >= MOST_HOLDERS:
            return
        self._seen.add(key)
        self._holders.append(
            {
                "kind": use.kind,
                "path": os.fsdecode(relative),
                "pid": use.process,
                "command": command_of(use.process),
                "detail": use.detail,
            }
        )

    def _flocked(self, relative: bytes, inode: int, detail: str = "") -> None:
        for process in self._locks.holders.get(inode) or [0]:
            self._hold(Use("flock", process if process > 0 else None, detail), relative)

    def entry(self, seen: Sighted) -> None:
        found = list(self._uses.of(seen.status))
        if self._uses.is_uncertain_about(seen.status.inode):
            found += self._uses.uncertain_of(seen.status.inode, join(self._location, seen.relative))
        for use in found:
            self._hold(use, seen.relative)
        if seen.status.is_regular:
            self._ask_kernel(seen, named=bool(found))

    def _ask_kernel(self, seen: Sighted, *, named: bool) -> None:
        self._candidates += 1
        if self._is_on_tape(seen.status):
            self._on_tape += 1
            return
        answer = leases.probe(seen.name, seen.folder)
        if answer == leases.GRANTED:
            self._granted += 1
            return
        if answer == leases.REFUSED:
            self._refused += 1
            if not named:
                text = "the kernel refused a write lease: somebody has it open"
                self._hold(Use("kernel_lease", None, text), seen.relative)
        if answer == leases.NO_ANSWER and seen.status.uid != os.geteuid():
            if not self._not_ours:
                self._first_not_ours = (seen.relative, seen.status.uid)
            self._not_ours += 1
        if seen.status.inode in self._locks.holders or answer == leases.NO_ANSWER:
            self._ask_for_flock(seen)

    def _is_on_tape(self, status: kernel.FileStatus) -> bool:
        """A file whose content a hierarchical store has released must not be opened: that brings it back."""
        stored_elsewhere = self._mount is not None and self._mount.type in _PUT_ON_TAPE
        return stored_elsewhere and status.size > 0 and status.allocated_bytes == 0

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
        if self._locks.is_complete and status.inode not in self._locks.holders:
            return
        if leases.is_flocked(descriptor):
            self._flocked(relative, status.inode)

    def problem(self, text: str) -> None:
        self._uses.unreadable.append(text)

    def report(self) -> Wire:
        """Return the holders, the blind spots and the leases in wire form."""
        serving = blindness.serving(self._location)
        local = self._mount is not None and self._mount.type in filesystems.LOCAL_TYPES_WITH_LEASES
        return {
            "holders": self._holders,
            "blind_spots": self._blind_spots(serving),
            "processes_inspected": self._uses.inspected,
            "lease_candidates": self._candidates,
            "leases_granted": self._granted,
            "lease_answers_for_all_openers": local and not serving,
        }

    def _blind_spots(self, serving: List[blindness.Serving]) -> List[Wire]:
        uses = self._uses
        found = blindness.foreign_processes(len(uses.denied), uses.inspected)
        found += blindness.of_processes(mounts.read())
        if self._mount is not None:
            found += blindness.of_filesystem(self._mount)
        for server in serving:
            text = f"{server.program} serves it to other machines: {server.detail}"
            found.append(blindness.spot("exported", 1, text, "root add --sole-clients, naming every client"))
        missing = self._candidates - self._granted - self._refused
        if missing > 0:
            text = f"the kernel gave no answer for {missing} of {self._candidates} files"
            if self._on_tape:
                text += f", {self._on_tape} of them released to tape or cloud and not opened"
            settled = blindness.WITH_SUDO
            if self._not_ours:
                text += f", {blindness.belonging(self._not_ours, *self._first_not_ours)}"
                settled = blindness.making_ours(self._location)
            found.append(blindness.spot("no_lease", missing, text, settled))
        for text in uses.unreadable:
            found.append(blindness.spot("unreadable", 1, text, blindness.WITH_SUDO))
        return found
