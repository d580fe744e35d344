"""Who this machine is."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List

from artifactctl.hosts.probe import filesystems

_SSHD = "/etc/ssh"
_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def identify() -> Dict[str, Any]:
    """Return machine id (empty when the system has none), host name, boot id and the keys of its own sshd."""
    return {
        "machine_id": machine_id(),
        "hostname": os.uname().nodename,
        "boot_id": filesystems.boot_id(),
        "own_keys": own_keys(),
    }


def own_keys() -> List[str]:
    """Return `type base64` of each public key by which sshd here proves to others which machine it is."""
    found = []
    try:
        names = [name for name in os.listdir(_SSHD) if name.startswith("ssh_host_") and name.endswith("_key.pub")]
        for name in sorted(names):
            with open(f"{_SSHD}/{name}", encoding="ascii", errors="replace") as text:
                found.append(" ".join(text.readline().split()[:2]))
    except OSError:  # what cannot be read says nothing
        return []
    return found


def machine_id() -> str:
    """Return the id that the system gave itself at installation, "" when there is none."""
    for path in _MACHINE_ID_FILES:
        try:
            with open(path, encoding="ascii") as text:
                found = text.read().strip()
        except (FileNotFoundError, PermissionError):
            continue
        if found and found != "uninitialized":
            return found
    return ""


def uptime() -> Dict[str, Any]:
    """Return the boot id and the nanoseconds since that boot, time asleep included, whatever any clock was set to.

    A time namespace may add to what its processes see; that is taken away again, since the boot id has no namespace.
    """
    since_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - _offset_ns()
    return {"boot_id": filesystems.boot_id(), "since_boot_ns": max(since_ns, 0)}


def _offset_ns() -> int:
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as text:
            rows = [line.split() for line in text]
    except FileNotFoundError:  # a kernel without time namespaces
        return 0
    return sum(int(row[1]) * 10**9 + int(row[2]) for row in rows if len(row) == 3 and row[0] in ("boottime", "7"))


def now_ns() -> int:
    """Return this machine's clock in nanoseconds since 1970."""
    return time.time_ns()
