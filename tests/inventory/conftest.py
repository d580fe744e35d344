"""Fixtures of the inventory's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inventory.ground import Ground, ground_at


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """A root `scratch` that nothing is in yet."""
    with ground_at(tmp_path) as made:
        yield made
