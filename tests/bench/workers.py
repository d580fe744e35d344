"""Several pytest processes share one run: inside the sandbox every worker of pytest-xdist gets a sandbox of its own.

Tests look at whole tables of the machine (mounts, processes, network names) and must not find the neighbour's there.
Loop devices and swap stay common; the programs that take those take the next one that is free.
"""

import shlex
import sys
from pathlib import Path
from typing import Protocol

import pytest
import pytest_rerunfailures  # type: ignore[import-untyped]

from tests.bench.sandbox import CHECKOUT, why_no_system_tests


class WorkerPlan(Protocol):
    """What pytest-xdist starts a worker by: `python` is the shell-quoted command that becomes the interpreter."""

    python: str | None


def give_sandboxes(workers: list[WorkerPlan]) -> None:
    """Have each worker started in a new sandbox. Outside of one they stay plain, and skip the system tests."""
    if why_no_system_tests():
        return
    for worker in workers:
        worker.python = shlex.join([str(CHECKOUT / "tests" / "bench" / "sandbox.sh"), sys.executable])


def make_room_for_files(config: pytest.Config) -> None:
    """Make the parents of a worker's folder of temporary files, which lie in memory of its own sandbox."""
    place: str | None = config.option.basetemp
    if place is not None:
        Path(place).parent.mkdir(parents=True, exist_ok=True)


def count_reruns_here() -> None:
    """Have each worker count by itself how often a test ran; to be called before pytest configures its plugins.

    pytest-rerunfailures counts in the controlling process, over a socket, so that a crashed worker's test can be run
    again. A worker in a network of its own cannot reach that; a crash of a worker stays a failure.
    """
    pytest_rerunfailures.HAS_PYTEST_HANDLECRASHITEM = False
