"""The account that acts, and the machine's stand-in id where the system has none of its own.

Which account it is comes from the kernel: the real user id, looked up in the system's list of accounts. $USER and
$LOGNAME are never read, since anybody can set them. In a user namespace (`unshare -r`) anybody is root to themselves;
the kernel says for which account outside each number stands, and that one is meant. Who stands behind root is told by
the login of the session, else by sudo's SUDO_USER: root can change both, so it is evidence, never an identity.
"""

import grp
import os
import pwd
import uuid
from collections.abc import Mapping
from pathlib import Path

from artifactctl.configuration.location import state_folder
from artifactctl.domain.accounts import Account

_SYSTEM_MACHINE_ID = Path("/etc/machine-id")
_OWN = Path("/proc/self")
_NOBODY_LOGGED_IN = 2**32 - 1
_ROOT = 0


def account_here(environment: Mapping[str, str], *, host: str) -> Account:
    """Return the account of this process on the machine called `host`."""
    user_id = os.getuid()
    outside = number_outside(user_id, _told("uid_map"))
    login = _login(outside) or _login(user_id) or f"uid{outside}"
    return Account(
        login=login,
        host=host,
        user_id=user_id,
        is_superuser=outside == _ROOT,
        groups=frozenset(filter(None, map(_group, (os.getgid(), *os.getgroups())))),
        person=person_behind(_told("loginuid"), environment) if outside == _ROOT else "",
    )


def number_outside(number: int, mapping: str) -> int:
    """Return for which number outside of the namespace `number` stands, by the kernel's `uid_map` or `gid_map`.

    One that stands for none, and every one where the kernel keeps no such map, is itself.
    """
    for line in mapping.splitlines():
        inside, outside, length = map(int, line.split())
        if inside <= number < inside + length:
            return outside + number - inside
    return number


def person_behind(login_id: str, environment: Mapping[str, str]) -> str:
    """Return who logged in to the session (`/proc/self/loginuid`), else whom sudo names; "" when neither says."""
    number = int(login_id) if login_id.strip().isdigit() else _NOBODY_LOGGED_IN
    logged_in = _login(number) if number not in (_NOBODY_LOGGED_IN, _ROOT) else ""
    return logged_in or environment.get("SUDO_USER", "")


def _login(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except (KeyError, OverflowError):
        return ""


def _group(group_id: int) -> str:
    try:
        return grp.getgrgid(number_outside(group_id, _told("gid_map"))).gr_name
    except (KeyError, OverflowError):
        return ""


def _told(name: str) -> str:
    """Return what the kernel says of this process in /proc, "" where it keeps no such file (macOS, hidden /proc)."""
    try:
        return (_OWN / name).read_text(encoding="ascii")
    except OSError:
        return ""


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
