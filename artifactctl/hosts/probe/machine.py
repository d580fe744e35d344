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


def now_ns() -> int:
    """Return this machine's clock in nanoseconds since 1970."""
    return time.time_ns()
