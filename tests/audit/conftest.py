"""A chain in a real catalog."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from artifactctl.catalog import Catalog, open_catalog

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def noon() -> datetime:
    return NOON


@pytest.fixture
def catalog(catalog_address: str) -> Iterator[Catalog]:
    catalog = open_catalog(catalog_address, now=NOON)
    yield catalog
    catalog.close()
