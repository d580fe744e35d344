"""Which process holds a lease, so that its end can be proven later: a bare pid is used again by the next one.

The text stored with a lease is `machine-id/boot-id/pid-namespace/start-ticks`. The same machine after a reboot, or the
same boot and namespace without that process, proves that the holder is gone. From another namespace or machine nothing
can be said.
"""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from artifactctl.domain.identity import HostIdentity


class Holding(Protocol):
    """What a process holds, with who it is: a lease, a share of some work."""

    @property
    def host(self) -> str: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def pid_started(self) -> str: ...


class HolderLife(StrEnum):
    """Whether the holder of a lease still lives."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One process for as long as it lives."""

    pid: int
    machine_id: str
    boot_id: str
    namespace: str
    started_ticks: str

    @property
    def text(self) -> str:
        """What is stored beside the pid."""
        return "/".join((self.machine_id, self.boot_id, self.namespace, self.started_ticks))


def identify_process(pid: int, host: HostIdentity) -> ProcessIdentity | None:
    """Return the identity of a running process of this machine; None when there is none, or no /proc to tell it."""
    started = _started_ticks(pid)
    if started is None:
        return None
    return ProcessIdentity(
        pid=pid,
        machine_id=host.machine_id,
        boot_id=host.boot_id,
        namespace=os.readlink("/proc/self/ns/pid"),
        started_ticks=started,
    )


def this_process(host: HostIdentity) -> ProcessIdentity:
    """Return the identity of the running program."""
    found = identify_process(os.getpid(), host)
    assert found is not None, "this process is running"
    return found


def life_of(lease: Holding, *, here: ProcessIdentity) -> HolderLife:
    """Return whether the holder lives, as far as a process here can tell."""
    parts = lease.pid_started.split("/")
    if lease.pid is None or len(parts) != 4:
        return HolderLife.UNKNOWN
    machine_id, boot_id, namespace, started = parts
    if machine_id != here.machine_id or not machine_id:
        return HolderLife.UNKNOWN
    if boot_id != here.boot_id:
        # Machine ids are copied with images; only the same name beside it makes another boot an earlier boot of this.
        return HolderLife.GONE if lease.host == os.uname().nodename else HolderLife.UNKNOWN
    if namespace != here.namespace:
        return HolderLife.UNKNOWN
    return HolderLife.ALIVE if _started_ticks(lease.pid) == started else HolderLife.GONE


def lease_is_of_this_boot(lease: Holding, here: ProcessIdentity) -> bool:
    """Whether the lease was taken on this machine since it was started."""
    return lease.pid_started.split("/")[:2] == [here.machine_id, here.boot_id]


def _started_ticks(pid: int) -> str | None:
    """Return field 22 of /proc/PID/stat, the start in clock ticks since boot; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    after_name = stat.rpartition(")")[2].split()  # the name may hold blanks and parentheses
    return None if after_name[0] in "ZX" else after_name[19]
