"""Machines that the catalog knows by `host add`, each with a root at /run/data, and artifacts on them."""

from pathlib import Path
from typing import Protocol

from tests.bench.command_line import CommandLine, Outcome
from tests.bench.machines import DATA, Machine, ssh_home

WAIVED = ("--waive", "recoverable,settled", "--reason", "not needed any more")


class Renting(Protocol):
    """Returns a machine that the command line knows under its name; the fittings are those of `bench.machines`."""

    def __call__(self, name: str, **fittings: object) -> Machine: ...


def made_known(run: CommandLine, machine: Machine) -> None:
    """Let the person's key in on the machine, pin its key, and add it."""
    home = ssh_home_of(run)
    home.can_enter(machine)
    home.knows(machine)
    must(run, "host", "add", machine.name, machine.address())


def ssh_home_of(run: CommandLine):
    """Return the `.ssh` of whoever types the commands."""
    return ssh_home(run.home)


def there(machine: Machine, *parts: str) -> Path:
    """Return a path below a machine's /run/data as it can be seen from here."""
    return machine.data.joinpath(*parts)


def dump(machine: Machine, name: str, *, files: int = 3) -> None:
    """Make a folder of shards on a machine."""
    machine.inside("sh", "-c", f"mkdir {DATA}/{name} && cd {DATA}/{name} && seq {files} | xargs touch")


def registered(run: CommandLine, machine: Machine, name: str, **how: int) -> str:
    """Make an artifact on a machine; returns its name."""
    dump(machine, name, **how)
    must(run, "register", f"{machine.name}:{DATA}/{name}", "--kind", "hidden_states", "--name", name)
    return name


def must(run: CommandLine, *words: str | Path) -> Outcome:
    """Run a command that has to succeed."""
    done = run(*words)
    assert done.code == 0, (words, done.stdout, done.stderr)
    return done
