"""A managed root on this machine and a catalog beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from artifactctl import audit
from artifactctl.catalog import Catalog, create_or_upgrade
from artifactctl.domain.artifacts import Artifact, Root
from artifactctl.domain.stock import ScanReport
from artifactctl.hosts.local import LocalHost
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.places import NOWHERE
from artifactctl.inventory.roots import add_root
from artifactctl.inventory.scanning import look, scan

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ACTOR = "alice"
ACTING = Acting(actor=ACTOR, host="node-1", now=NOON)
HERE = NOWHERE
"""The working directory of a test that types names and whole paths."""


@dataclass(slots=True)
class Ground:
    """`data` is the root's folder; nothing is in it but what a test puts there."""

    data: Path
    catalog: Catalog
    root: Root
    host: LocalHost = field(default_factory=LocalHost)

    def scan(self, *words: str, accept: tuple[str, ...] = ()) -> ScanReport:
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]
        return scan(self.host, self.catalog, encoded, now=NOON, actor=ACTOR, accept=accept)

    def look(self, *words: str) -> ScanReport:
        return look(self.host, self.catalog, [word.encode("utf-8", "surrogateescape") for word in words])

    def artifact(self, name: str) -> Artifact:
        with self.catalog.reading() as reading:
            found = reading.artifact(name)
        assert found is not None, f"no artifact {name}"
        return found

    def members(self, name: str) -> list[tuple[bytes, str, int]]:
        artifact_id = self.artifact(name).artifact_id
        with self.catalog.reading() as reading:
            return list(reading.members(artifact_id))

    def actions(self, name: str | None = None) -> list[str]:
        with self.catalog.reading() as reading:
            return [event.entry.action for event in audit.events(reading.connection, artifact=name)]


@contextmanager
def ground_at(folder: Path) -> Iterator[Ground]:
    """Make a catalog and a root named `scratch`."""
    data = folder / "scratch"
    data.mkdir()
    catalog = create_or_upgrade(folder / "catalog.db", now=NOON)
    host = LocalHost()
    try:
        root = add_root(host, catalog, bytes(data), now=NOON, actor=ACTOR)
        yield Ground(data=data, catalog=catalog, root=root, host=host)
    finally:
        catalog.close()
