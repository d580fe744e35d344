"""A catalog in a real file, with one machine and one managed root in it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from artifactctl.catalog import Catalog, Writing, open_catalog
from artifactctl.domain.artifacts import Artifact, ArtifactKind, ReplicaState, Root

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def noon() -> datetime:
    return NOON


@pytest.fixture
def location(catalog_file: Path) -> Path:
    return catalog_file


@pytest.fixture
def empty(catalog_address: str) -> Iterator[Catalog]:
    catalog = open_catalog(catalog_address, now=NOON)
    yield catalog
    catalog.close()


@pytest.fixture
def catalog(empty: Catalog) -> Catalog:
    with empty.writing("ada", NOON) as writing:
        host = writing.add_host("here", machine_id="m-1")
        writing.add_root(
            Root(
                root_id="root-1",
                name="data",
                host_id=host.host_id,
                path=b"/data",
                filesystem_uuid="uuid-1",
                filesystem_type="ext4",
                inode=128,
            )
        )
    return empty


@pytest.fixture
def write(catalog: Catalog) -> Callable[[], AbstractContextManager[Writing]]:
    return lambda: catalog.writing("ada", NOON)


@pytest.fixture
def place(catalog: Catalog) -> Callable[..., Artifact]:
    """Record an artifact with one copy below the root, at the path that its name says."""

    def placed(
        name: str,
        *,
        kind: ArtifactKind = ArtifactKind.HIDDEN_STATES,
        state: ReplicaState = ReplicaState.LIVE,
        relative: bytes | None = None,
    ) -> Artifact:
        with catalog.writing("ada", NOON) as writing:
            artifact = writing.add_artifact(name, kind)
            writing.add_replica(
                artifact.artifact_id,
                "root-1",
                relative if relative is not None else name.encode(),
                is_directory=True,
                files=3,
                apparent_bytes=300,
                allocated_bytes=12_288,
                member_digest="members",
                fingerprint="print-1",
                observed_at=NOON,
                state=state,
            )
            found = writing.artifact(name)
        assert found is not None
        return found

    return placed
