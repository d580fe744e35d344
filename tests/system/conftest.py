"""A system test cleans up after itself: no mount and no child process may outlive it."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.bench.sandbox import why_no_system_tests


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


def _mount_points() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()}
