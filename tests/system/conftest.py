"""A system test cleans up after itself: no mount and no child process may outlive it."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.bench.machines import DATA, Machine
from tests.bench.sandbox import why_no_system_tests
from tests.system import rented


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """Fail the test that leaves a mount or a running child; the next one would have to live with it."""
    if why_no_system_tests():
        yield
        return
    before = _mount_points()
    session_wide = set(psutil.Process().children(recursive=True))
    yield
    started = set(psutil.Process().children(recursive=True)) - session_wide
    _, running = psutil.wait_procs(started, timeout=2)
    assert running == []
    assert _mount_points() - before == set()


@pytest.fixture
def gpu(machines, warm_cli):
    """Return a maker of machines that `warm_cli` knows, with the root NAME-data at /run/data."""
    rented.must(warm_cli, "init")

    def make(name: str, **fittings: object) -> Machine:
        made: Machine = machines(name, **fittings)
        rented.made_known(warm_cli, made)
        rented.must(warm_cli, "root", "add", f"{name}:{DATA}", "--name", f"{name}-data")
        return made

    return make


def _mount_points() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()}
