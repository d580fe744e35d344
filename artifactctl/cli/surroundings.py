"""What a command finds around it: clock, machines, environment. Tests hand in their own."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from artifactctl.cli.clock import Clock, SystemClock
from artifactctl.configuration.account import account_here, stand_in_machine_id
from artifactctl.domain.accounts import Account
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.protocol import Host


def this_machine(environment: Mapping[str, str]) -> Host:
    """Return the machine the program runs on."""
    from artifactctl.hosts.local import LocalHost

    return LocalHost(stand_in_machine_id=stand_in_machine_id(environment))


def another_machine(known: KnownHost, environment: Mapping[str, str]) -> Host:
    """Return a machine that the catalog knows by its address, connected."""
    from artifactctl.hosts.connecting import connect

    return connect(known, environment=environment)


def account_of_this_process(environment: Mapping[str, str], host: str) -> Account:
    """Return the account that the operating system says this process has."""
    return account_here(environment, host=host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world of one invocation.

    `make_host` is called once, with the environment, when the machine that the program runs on is needed; `connect`
    once for each other machine, from any thread. `platform` is `sys.platform`: where it is not Linux, nothing of this
    machine is touched. All machines that mount a volume may together take `other_host_seconds` for an answer (None:
    the usual time); `other_host` leads to them by name in place of the catalog.
    `ask_account` says who acts, from the environment and the machine's name.
    """

    clock: Clock = field(default_factory=SystemClock)
    make_host: Callable[[Mapping[str, str]], Host] = this_machine
    connect: Callable[[KnownHost, Mapping[str, str]], Host] = another_machine
    other_host: Callable[[str], Host] | None = None
    other_host_seconds: float | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    ask_account: Callable[[Mapping[str, str], str], Account] = account_of_this_process
    working_directory: Path = field(default_factory=lambda: Path(os.getcwd()))
    platform: str = sys.platform
