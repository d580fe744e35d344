"""The engine of the matrix: kill one command before one of its changing calls, recover, and look at everything."""

import shlex
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.forking import TRACER_VARIABLE
from tests.bench.warm_command_line import ForkServer
from tests.proof.acts import ACTS, CALLS, Cell
from tests.proof.evidence import check_recovered, check_what_is_left
from tests.proof.ground import Case, Ground, ground_on, prepared

POINTS_ON_ONE_GROUND = 25
"""A ground is then left for a new one: what earlier points made would slow the later ones down."""


class PointFailed(AssertionError):
    """Recovery after a kill did not reach what it must; says which point, so that it can be run alone."""


def tracer_words(number: int) -> str:
    """Return the tracer that kills its process before the changing call of this number, counted from 1."""
    calls = ",".join(f"?{name}" for name in CALLS)
    return shlex.join(
        [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            f"trace={calls}",
            "-e",
            f"inject={calls}:signal=KILL:when={number}",
        ]
    )


def kill_and_check(ground: Ground, cell: Cell, number: int) -> bool:
    """Return whether the command was killed: False where it ended before its call of that number."""
    case = prepared(ground, ACTS[cell.act])
    try:
        died = ground.site(*case.command, environment={TRACER_VARIABLE: tracer_words(number)})
        assert died.code in (0, -signal.SIGKILL), died
        _recover(case)
    except AssertionError as failure:
        raise PointFailed(f"{cell}, call {number}: {failure}") from failure
    return died.code != 0


def _recover(case: Case) -> None:
    found = check_what_is_left(case)
    case.ground.done(case.act.recovery)
    check_recovered(case, found)


def kill_at_each(
    cell: Cell, numbers: Iterable[int], server: ForkServer, reached: Callable[[int], None] = lambda number: None
) -> int | None:
    """Kill at these points and say each in `reached`; the first number at which the command came to its end, if any."""
    waiting = iter(numbers)
    while True:
        with new_ground(cell, server) as ground:
            for _ in range(POINTS_ON_ONE_GROUND):
                number = next(waiting, None)
                if number is None:
                    return None
                if not kill_and_check(ground, cell, number):
                    return number
                reached(number)


@contextmanager
def new_ground(cell: Cell, server: ForkServer) -> Iterator[Ground]:
    """Make a volume with a ground on it."""
    with (
        tempfile.TemporaryDirectory(prefix="proof-") as folder,
        ground_on(cell.kind, server, Path(folder)) as ground,
    ):
        yield ground
