"""Who this machine is."""

from __future__ import annotations

import os
import time
from typing import Any, Dict

from artifactctl.hosts.probe import filesystems

_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def identify() -> Dict[str, Any]:
    """Return machine id (empty when the system has none), host name and boot id."""
    return {"machine_id": machine_id(), "hostname": os.uname().nodename, "boot_id": filesystems.boot_id()}


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
