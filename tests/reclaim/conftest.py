"""The ground the engine's tests stand on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from artifactctl.domain.artifacts import ArtifactKind, LineageRole
from tests.reclaim.ground import Ground, grounds


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> str:
    """SQLite, but for tests with the mark `ON_BOTH`."""
    kind: str = request.param
    return kind


@pytest.fixture
def ground(tmp_path: Path, database: str, request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A machine, a catalog, and a corpus from which `hidden-old` can be built again."""
    address = request.getfixturevalue("catalog_database") if database == "postgresql" else ""
    for ground in grounds(tmp_path, address=address):
        ground.artifact("corpus", kind=ArtifactKind.MERGED_CORPUS, shards=1)
        ground.artifact("hidden-old", shards=3)
        ground.link("hidden-old", "corpus", LineageRole.EXTRACTED_FROM)
        yield ground
