"""Fixtures of the tests of archiving."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archiving.ground import Ground, ground_at


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """Roots `near` and `far`, and `hidden` in `near`."""
    with ground_at(tmp_path) as made:
        yield made
