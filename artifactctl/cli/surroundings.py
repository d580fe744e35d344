"""What a command finds around it: clock, machine, environment. Tests hand in their own."""

import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from artifactctl.cli.clock import Clock, SystemClock
from artifactctl.hosts.protocol import Host


def _this_machine() -> Host:
    from artifactctl.hosts.local import LocalHost

    return LocalHost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world of one invocation. `make_host` is called once, when the machine is first needed."""

    clock: Clock = field(default_factory=SystemClock)
    make_host: Callable[[], Host] = _this_machine
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
