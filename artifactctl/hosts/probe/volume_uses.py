"""What is in use on one filesystem, by inode, from one pass over /proc: for questions about many targets at once.

`holders` asks the kernel about every file of one target and is what a removal rests on; this costs the same for one
target as for a thousand, and cannot see what only a refused lease shows.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional

from artifactctl.hosts.probe import blindness, devices, leases, mounts, processes
from artifactctl.hosts.probe.mounts import join, relative_to
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.uses import Use, UseTable, command_of

Wire = Dict[str, Any]


def uses_on_volume_of(path: bytes) -> Wire:
    """Return who uses which inode of the filesystem that holds the folder at `path`; OSError when there is none.

    `by_inode` goes by st_ino on the st_dev of `path` (other btrfs subvolumes are left out), `below` by path relative
    to it: what other mount tables show of it or have mounted on it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mount = mounts.of_descriptor(mounts.read(), descriptor)
        device = os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)
    table = UseTable()
    namespaces = Namespaces()
    devices.note_loop_devices(table)
    devices.note_swap(table)
    processes.ProcessLook(table, namespaces, mount.device if mount else "").run()
    look = _Look()
    for inode, use in table.on_device(device):
        look.note(use, inode=inode)
    for inode, owners in leases.LockTable(in_first_namespace=blindness.in_first_pid_namespace()).holders.items():
        for owner in owners:
            look.note(Use("flock", owner if owner > 0 else None), inode=inode)
    if mount is not None:
        location = os.path.realpath(path)
        inner = join(mount.root, relative_to(location, mount.point))
        for shown in namespaces.uses_of(mount.device, inner, location):
            if shown.relative:
                look.note(Use("mount", shown.process, shown.detail), relative=shown.relative)
    return {
        "uses": look.found,
        "processes_inspected": table.inspected,
        "processes_denied": len(table.denied),
        "problems": table.unreadable,
    }


class _Look:
    """Collects uses in wire form; each command line is read once."""

    def __init__(self) -> None:
        self.found: List[Wire] = []
        self._commands: Dict[Optional[int], str] = {}

    def note(self, use: Use, *, inode: Optional[int] = None, relative: bytes = b"") -> None:
        if use.process not in self._commands:
            self._commands[use.process] = command_of(use.process)
        self.found.append(
            {
                "inode": inode,
                "path": os.fsdecode(relative),
                "kind": use.kind,
                "pid": use.process,
                "command": self._commands[use.process],
                "detail": use.detail,
            }
        )
