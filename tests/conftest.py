"""What holds for every test: the bench's fixtures, and system tests only where they can do no harm."""

import pytest
from hypothesis import settings

from tests.bench.sandbox import system_tests_are_demanded, why_no_system_tests
from tests.bench.workers import WorkerPlan, count_reruns_here, give_sandboxes, make_room_for_files
from tests.proof.sampling import SEED_VARIABLE, settle_seed

# A busy machine is no failure; a failing example is printed so that it can be repeated anywhere.
settings.register_profile("bench", deadline=None, print_blob=True)
settings.load_profile("bench")

pytest_plugins = ["tests.bench.fixtures"]
count_reruns_here()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[WorkerPlan]) -> None:
    """Before pytest-xdist starts its workers: each in a sandbox of its own."""
    give_sandboxes(specs)


def pytest_configure(config: pytest.Config) -> None:
    """In every process of the run, before the first temporary file."""
    make_room_for_files(config)
    settle_seed()


def pytest_report_header() -> str:
    """Say what repeats this run's sample of the kill matrix."""
    return f"kill matrix: {SEED_VARIABLE}={settle_seed()}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a system test with the reason why it cannot run here; fail it where skipping is not allowed."""
    if item.get_closest_marker("system") is None:
        return
    reason = why_no_system_tests()
    if reason and system_tests_are_demanded():
        pytest.fail(f"{reason} (ARTIFACTCTL_REQUIRE_SYSTEM is set)", pytrace=False)
    if reason:
        pytest.skip(reason)
