"""Who this machine is."""

from __future__ import annotations

import glob
import os
import time
from typing import Any, Dict, List

from artifactctl.hosts.probe import filesystems

_HOST_KEYS = "/etc/ssh/ssh_host_*_key.pub"
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
    for path in sorted(glob.glob(_HOST_KEYS)):
        try:
            with open(path, encoding="ascii", errors="replace") as text:
                words = text.readline().split()
        except OSError:  # a key that cannot be read says nothing
            continue
        if len(words) > 1:
            found.append(" ".join(words[:2]))
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
