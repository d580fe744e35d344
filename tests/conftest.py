"""What holds for every test: the bench's fixtures, and system tests only where they can do no harm."""

import pytest
from hypothesis import settings

from tests.bench.sandbox import system_tests_are_demanded, why_no_system_tests

# A busy machine is no failure; a failing example is printed so that it can be repeated anywhere.
settings.register_profile("bench", deadline=None, print_blob=True)
settings.load_profile("bench")

pytest_plugins = ["tests.bench.fixtures"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a system test with the reason why it cannot run here; fail it where skipping is not allowed."""
    if item.get_closest_marker("system") is None:
        return
    reason = why_no_system_tests()
    if reason and system_tests_are_demanded():
        pytest.fail(f"{reason} (ARTIFACTCTL_REQUIRE_SYSTEM is set)", pytrace=False)
    if reason:
        pytest.skip(reason)
