"""Run the whole matrix inside the sandbox, and go on where an earlier run stopped: python -m tests.proof.

A failure is printed with its cell and call and ends that cell; the exit code is then 1. The figures are written after
every point.
"""

import argparse
import sys
import time
from itertools import takewhile

from tests.bench.sandbox import why_no_system_tests
from tests.bench.warm_command_line import ForkServer, fork_server
from tests.proof.acts import CELLS, Cell
from tests.proof.figures import figure_of, read_figures, write_figures
from tests.proof.killing import PointFailed, kill_at_each

NO_MORE_THAN = 5000
"""Calls of one command; more would mean that it does not come to its end."""


def main() -> int:
    """Return 0 when every cell that was tried held."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no point after so many seconds")
    parser.add_argument("--cell", action="append", choices=[str(cell) for cell in CELLS], help="only this one")
    parser.add_argument("--anew", action="store_true", help="forget the figures of these cells first")
    options = parser.parse_args()
    reason = why_no_system_tests()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    wanted = [cell for cell in CELLS if options.cell is None or str(cell) in options.cell]
    if options.anew:
        write_figures({name: had for name, had in read_figures().items() if name not in map(str, wanted)})
    until = time.monotonic() + options.seconds
    with fork_server() as server:
        held = [_held(cell, server, until) for cell in wanted]
    total = sum(figure.points for figure in read_figures().values())
    print(f"{total} points killed and recovered from in {len(read_figures())} of {len(CELLS)} cells")
    return 0 if all(held) else 1


def _held(cell: Cell, server: ForkServer, until: float) -> bool:
    figures = read_figures()
    had = figures.get(str(cell))
    if had is not None and had.complete:
        return True
    points = had.points if had is not None else 0

    def reached(number: int) -> None:
        figures[str(cell)] = figure_of(number, complete=False)
        write_figures(figures)

    in_time = takewhile(lambda number: time.monotonic() < until, range(points + 1, NO_MORE_THAN))
    try:
        ended_at = kill_at_each(cell, in_time, server, reached)
    except PointFailed as failure:
        print(f"FAILED {failure}", file=sys.stderr)
        return False
    if ended_at is not None:
        figures[str(cell)] = figure_of(ended_at - 1, complete=True)
        write_figures(figures)
    known = figures.get(str(cell))
    print(f"{cell}: {known}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
