"""The account that acts, and the machine's stand-in id where the system has none of its own."""

import os
import pwd
import uuid
from collections.abc import Mapping
from pathlib import Path

from artifactctl.configuration.location import state_folder

_SYSTEM_MACHINE_ID = Path("/etc/machine-id")


def login_name(environment: Mapping[str, str]) -> str:
    """Return who is acting: the account of the real user id, with the person behind sudo where there is one."""
    user_id = os.getuid()
    try:
        account = pwd.getpwuid(user_id).pw_name
    except KeyError:
        account = f"uid{user_id}"
    person = environment.get("SUDO_USER", "")
    return f"{person} as {account}" if user_id == 0 and person and person != account else account


def kept_machine_id(environment: Mapping[str, str]) -> str:
    """Return the machine id of our own that was drawn earlier, "" where none was or the system has one."""
    if _SYSTEM_MACHINE_ID.is_file() and _SYSTEM_MACHINE_ID.stat().st_size > 0:
        return ""
    kept = _kept_file(environment)
    return kept.read_text(encoding="ascii").strip() if kept.is_file() else ""


def _kept_file(environment: Mapping[str, str]) -> Path:
    return Path(state_folder(environment)) / "machine-id"


def stand_in_machine_id(environment: Mapping[str, str]) -> str:
    """Return a machine id of our own where the system has none (fresh images, some containers), drawn once."""
    if _SYSTEM_MACHINE_ID.is_file() and _SYSTEM_MACHINE_ID.stat().st_size > 0:
        return ""
    kept = _kept_file(environment)
    if kept.is_file():
        return kept.read_text(encoding="ascii").strip()
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept.write_text(f"{uuid.uuid4().hex}\n", encoding="ascii")
    return kept.read_text(encoding="ascii").strip()
