"""What a command finds around it: clock, machine, environment. Tests hand in their own."""

import os
import pwd
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from artifactctl.cli.clock import Clock, SystemClock
from artifactctl.cli.location import state_folder
from artifactctl.hosts.protocol import Host

_SYSTEM_MACHINE_ID = Path("/etc/machine-id")


def this_machine(environment: Mapping[str, str]) -> Host:
    """Return the machine the program runs on."""
    from artifactctl.hosts.local import LocalHost

    return LocalHost(stand_in_machine_id=_stand_in_machine_id(environment))


def _stand_in_machine_id(environment: Mapping[str, str]) -> str:
    """Return a machine id of our own where the system has none (fresh images, some containers), drawn once."""
    if _SYSTEM_MACHINE_ID.is_file() and _SYSTEM_MACHINE_ID.stat().st_size > 0:
        return ""
    kept = Path(state_folder(environment)) / "machine-id"
    if kept.is_file():
        return kept.read_text(encoding="ascii").strip()
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept.write_text(f"{uuid.uuid4().hex}\n", encoding="ascii")
    return kept.read_text(encoding="ascii").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world of one invocation. `make_host` is called once, with the environment, when the machine is needed."""

    clock: Clock = field(default_factory=SystemClock)
    make_host: Callable[[Mapping[str, str]], Host] = this_machine
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    working_directory: Path = field(default_factory=lambda: Path(os.getcwd()))


def login_name(environment: Mapping[str, str]) -> str:
    """Return who is acting: the account of the real user id, with the person behind sudo where there is one."""
    user_id = os.getuid()
    try:
        account = pwd.getpwuid(user_id).pw_name
    except KeyError:
        account = f"uid{user_id}"
    person = environment.get("SUDO_USER", "")
    return f"{person} as {account}" if user_id == 0 and person and person != account else account


def home_directories() -> tuple[bytes, ...]:
    """Return the home directories of this machine's accounts: none of them can be a root."""
    return tuple(os.fsencode(account.pw_dir) for account in pwd.getpwall())
