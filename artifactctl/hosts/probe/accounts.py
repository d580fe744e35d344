"""Accounts in messages: who was refused what, and whose it is."""

from __future__ import annotations

import errno
import os
import pwd


def name_of(user: int) -> str:
    """Return the name of an account, its number where it has none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def may_not_look_into(path: bytes, owner: int) -> PermissionError:
    """Return the refusal of a folder, with the account that was refused and the one it belongs to."""
    why = f"the account {name_of(os.geteuid())} may not look into it, it belongs to {name_of(owner)}"
    return PermissionError(errno.EACCES, why, os.fsdecode(path))
