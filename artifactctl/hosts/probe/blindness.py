"""Where a look for holders cannot reach on this machine, and what would settle each."""

from __future__ import annotations

import os
import shlex
from typing import Any, Dict, List

from artifactctl.hosts.probe import mounts
from artifactctl.hosts.probe.accounts import name_of
from artifactctl.hosts.probe.mounts import Mount

Wire = Dict[str, Any]
_FIRST_PID_NAMESPACE = 0xEFFFFFFC
WITH_SUDO = "run the same command with sudo"


def spot(kind: str, count: int, detail: str, settled_by: str) -> Wire:
    """Return one blind spot in wire form."""
    return {"kind": kind, "count": count, "detail": detail, "settled_by": settled_by}


def in_first_pid_namespace() -> bool:
    """Whether this process sees all processes of the machine: the first PID namespace has a fixed inode."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == _FIRST_PID_NAMESPACE
    except FileNotFoundError:  # a kernel without PID namespaces has one only
        return True


def belonging(count: int, relative: bytes, owner: int) -> str:
    """Return how many files are not ours, with the path and the owner of the first."""
    return f"{count} of them not ours, such as {os.fsdecode(relative) or 'the file itself'} of {name_of(owner)}"


def making_ours(path: bytes) -> str:
    """Return the command that makes everything at `path` ours, so that the kernel answers."""
    words = ["sudo", "chown", "-R", "-h", name_of(os.geteuid()), os.fsdecode(path)]
    return "`" + " ".join(shlex.quote(word) for word in words) + "`, or " + WITH_SUDO


def foreign_processes(denied: int, inspected: int) -> List[Wire]:
    """Return the spot for processes whose descriptors could not be read."""
    if not denied:
        return []
    settled = WITH_SUDO if os.geteuid() else "run the same command with CAP_SYS_PTRACE, outside of any container"
    text = f"descriptors of {denied} of {denied + inspected} processes could not be read"
    return [spot("foreign_processes", denied, text, settled)]


def of_processes(table: List[Mount]) -> List[Wire]:
    """Return the spots for processes that are not even visible."""
    found = []
    proc = [mount for mount in table if mount.point == b"/proc" and mount.type == "proc"]
    hidden = proc and any(_hides(option) for option in proc[-1].options)
    if hidden and os.geteuid() != 0:
        found.append(spot("hidden_processes", 1, "/proc is mounted with hidepid", WITH_SUDO))
    if not in_first_pid_namespace():
        text = "this runs in a PID namespace: processes outside of it are not visible"
        found.append(
            spot("pid_namespace", 1, text, "run the same command on the machine itself, outside of the container")
        )
    return found


def _hides(option: bytes) -> bool:
    name, _, value = option.partition(b"=")
    return name == b"hidepid" and value not in (b"0", b"off")


def of_filesystem(mount: Mount, table: List[Mount]) -> List[Wire]:
    """Return the spot for a filesystem that others can have open, itself or in a layer below it."""
    below = [mounts.holding(table, layer) for layer in mount.overlay_layers]
    shared = [each for each in (mount, *below) if each is not None and each.is_shared]
    if not shared:
        return []
    found = shared[0]
    stated = "a statement who mounts it: `artifactctl root attest ROOT --sole-clients MACHINE,...`"
    if found.type in mounts.NETWORK_TYPES:
        text = f"{found.type} from {found.source}: other machines can have files open"
    elif found.is_remote or found.type == "fuseblk":
        text = f"{found.type} from {found.source}: its server can have files open, or serve them to others"
        stated += ", or manage the folder that it serves"
    else:
        text = f"{found.type} is not known to be a filesystem of this machine alone: others may have files open"
    return [spot("network_filesystem", 1, text, stated)]
