"""Stop a running command at a numbered point of a removal, do something meanwhile, and let it go on."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from artifactctl.hosts.probe.points import VARIABLE
from tests.bench.command_line import CommandLine, Outcome, Word

WAIT_SECONDS = 120


@dataclass(slots=True, kw_only=True)
class Paused:
    """A command that stands at its point until the context ends; `outcome` is there afterwards."""

    outcome: Outcome = field(default_factory=lambda: Outcome(code=-1, stdout="", stderr=""))


@contextmanager
def paused_at(point: str, cli: CommandLine, *words: Word) -> Iterator[Paused]:
    """Run a command up to `point`; the body of the context runs while it waits there, then it goes on to its end."""
    fifo = cli.home / "point"
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    plain = CommandLine(home=cli.home, cwd=cli.cwd, prefix=cli.prefix)
    waiting = replace(plain, extra_environment={**(cli.extra_environment or {}), VARIABLE: f"{point}=fifo:{fifo}"})
    paused = Paused()
    with waiting.start(*words) as process:
        gate = _when_it_waits(fifo, process)
        try:
            yield paused
        finally:
            os.close(gate)
            output, errors = process.communicate(timeout=WAIT_SECONDS)
        paused.outcome = Outcome(code=process.returncode, stdout=output.decode(), stderr=errors.decode())


def _when_it_waits(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """Return a descriptor that keeps the command waiting: a FIFO can be opened for writing once somebody reads it."""
    deadline = time.monotonic() + WAIT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.02)
    process.kill()
    _, errors = process.communicate()
    raise RuntimeError(f"the command never came to its point: {process.returncode} {errors.decode()}")
