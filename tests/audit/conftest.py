"""A chain in a real catalog file."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from artifactctl.catalog import Catalog, create_or_upgrade, open_catalog

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def noon() -> datetime:
    return NOON


@pytest.fixture(scope="session")
def new_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog that was just made, to be copied: making one takes half a second."""
    location = tmp_path_factory.mktemp("new") / "state" / "catalog.db"
    create_or_upgrade(location, now=NOON).close()
    return location


@pytest.fixture
def location(new_catalog: Path, tmp_path: Path) -> Path:
    shutil.copytree(new_catalog.parent, tmp_path / "state", ignore=shutil.ignore_patterns("*-shm"))
    return tmp_path / "state" / "catalog.db"


@pytest.fixture
def catalog(location: Path) -> Iterator[Catalog]:
    catalog = open_catalog(location, now=NOON)
    yield catalog
    catalog.close()
