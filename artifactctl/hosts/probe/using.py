"""What processes, devices and the kernel's leases say about the members of one target: the part of a look for users
that does not depend on what kind of use counts."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Set, Tuple

from artifactctl.hosts.probe import blindness, devices, filesystems, kernel, leases, mounts, processes, serving
from artifactctl.hosts.probe.mounts import Mount, join
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.surveying import Sighted, Visitor
from artifactctl.hosts.probe.uses import Use, UseTable, command_of

Wire = Dict[str, Any]
MOST_HOLDERS = 1000
_PUT_ON_TAPE = frozenset(("lustre", "gpfs"))


class UseLook(Visitor):
    """Looks at all processes when it is made, at every member during a survey; `report` gives the result.

    `location` is the target's resolved absolute path, `mount` the mount its folder lies on.
    """

    def __init__(self, location: bytes, mount: Optional[Mount]) -> None:
        self._location = location
        self._mount = mount
        self._is_shared = mount is None or mount.is_shared
        self._has_leases = mount is None or mount.type not in mounts.NETWORK_TYPES
        self._holders: List[Wire] = []
        self._seen: Set[Tuple[str, bytes, Optional[int]]] = set()
        self._candidates = self._granted = self._refused = self._on_tape = 0
        self._not_ours, self._first_not_ours = 0, (b"", 0)
        self._uses = UseTable()
        devices.note_loop_devices(self._uses)
        devices.note_swap(self._uses)
        self._look_at_processes(mount)

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
        self._look_at_mount_tables(namespaces, mount)

    def _look_at_mount_tables(self, namespaces: Namespaces, mount: Mount) -> None:
        """What other mount tables show of the target is a use only to some."""

    def _counts(self, use: Use) -> bool:
        """Whether this use of a member is one of those looked for."""
        raise NotImplementedError

    def _probe(self, seen: Sighted) -> str:
        """Ask the kernel by a lease whether anybody uses the file so; a value of `leases`."""
        raise NotImplementedError

    def _asked(self, seen: Sighted, answer: str, *, named: bool) -> None:
        """The kernel gave this answer about a file; `named` says whether a process is known for it."""

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

    def entry(self, seen: Sighted) -> None:
        found = list(self._uses.of(seen.status))
        if self._uses.is_uncertain_about(seen.status.inode):
            found += self._uses.uncertain_of(seen.status.inode, join(self._location, seen.relative))
        counted = [use for use in found if self._counts(use)]
        for use in counted:
            self._hold(use, seen.relative)
        if seen.status.is_regular:
            self._ask_kernel(seen, named=bool(counted))

    def _ask_kernel(self, seen: Sighted, *, named: bool) -> None:
        self._candidates += 1
        if self._is_on_tape(seen.status):
            self._on_tape += 1
            return
        # NFS and SMB refuse a lease for want of a delegation: that says nothing, and each open would be a round trip.
        answer = self._probe(seen) if self._has_leases else leases.NO_ANSWER
        if answer == leases.GRANTED:
            self._granted += 1
            return
        if answer == leases.REFUSED:
            self._refused += 1
        if answer == leases.NO_ANSWER and self._has_leases and seen.status.uid != os.geteuid():
            if not self._not_ours:
                self._first_not_ours = (seen.relative, seen.status.uid)
            self._not_ours += 1
        self._asked(seen, answer, named=named)

    def _is_on_tape(self, status: kernel.FileStatus) -> bool:
        """A file whose content a hierarchical store has released must not be opened: that brings it back."""
        stored_elsewhere = self._mount is not None and self._mount.type in _PUT_ON_TAPE
        return stored_elsewhere and status.size > 0 and status.allocated_bytes == 0

    def problem(self, text: str) -> None:
        self._uses.unreadable.append(text)

    def report(self) -> Wire:
        """Return the holders, the blind spots and the leases in wire form."""
        served = serving.who_serves(self._location)
        local = self._mount is not None and self._mount.type in filesystems.LOCAL_TYPES_WITH_LEASES
        return {
            "holders": self._holders,
            "blind_spots": self._blind_spots(served),
            "processes_inspected": self._uses.inspected,
            "lease_candidates": self._candidates,
            "leases_granted": self._granted,
            "lease_answers_for_all_openers": local and not served,
        }

    def _blind_spots(self, served: List[serving.Serving]) -> List[Wire]:
        uses = self._uses
        found = blindness.foreign_processes(len(uses.denied), uses.inspected)
        found += blindness.of_processes(mounts.read())
        if self._mount is not None:
            found += blindness.of_filesystem(self._mount, mounts.read())
        for server in served:
            text = f"{server.program} serves it to other machines: {server.detail}"
            found.append(
                blindness.spot(
                    "exported", 1, text, "a statement who mounts it: `artifactctl root attest ROOT --sole-clients`"
                )
            )
        missing = self._candidates - self._granted - self._refused
        if missing > 0:
            text = f"the kernel gave no answer for {missing} of {self._candidates} files"
            if self._mount is not None and not self._has_leases:
                text = f"{self._mount.type} has no write leases, so {missing} files were looked for in processes only"
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
