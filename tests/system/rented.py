"""Machines that the catalog knows by `host add`, each with a root at /run/data, and artifacts on them."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from artifactctl.hosts.probe.points import VARIABLE
from tests.bench.command_line import CommandLine, Outcome
from tests.bench.machines import DATA, Machine, ssh_home

WAIT_SECONDS = 60
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


@contextmanager
def paused_there(
    machine: Machine, point: str, cli: CommandLine, *words: str | Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command whose agent on the machine waits at a point of the probe while the context lasts, then goes on.

    Yields the process, which is to be waited for.
    """
    fifo, startup = machine.folder / "point", machine.home() / ".bashrc"
    os.mkfifo(fifo)
    startup.write_text(f"export {VARIABLE}={point}=fifo:{fifo}\n", encoding="utf-8")
    process = CommandLine(home=cli.home, cwd=cli.cwd, extra_environment=cli.extra_environment).start(*words)
    gate = _when_it_waits(fifo, process)
    startup.write_text("", encoding="utf-8")
    try:
        yield process
    except BaseException:
        process.kill()
        process.communicate()
        raise
    finally:
        fifo.with_suffix(".open").touch()
        fifo.with_suffix(".open").rename(fifo)  # whoever comes to the point again reads nothing and goes on
        os.close(gate)


def _when_it_waits(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + WAIT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):  # it can be opened for writing once somebody reads it
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate())


def outcome_of(process: subprocess.Popen[bytes], *, within_seconds: float = 120) -> Outcome:
    """Wait for a command that was started."""
    output, errors = process.communicate(timeout=within_seconds)
    return Outcome(code=process.returncode, stdout=output.decode(), stderr=errors.decode())


def must(run: CommandLine, *words: str | Path) -> Outcome:
    """Run a command that has to succeed."""
    done = run(*words)
    assert done.code == 0, (words, done.stdout, done.stderr)
    return done
