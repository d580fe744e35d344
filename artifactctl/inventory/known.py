"""What the catalog knows about a target before it is walked."""

from collections import defaultdict
from collections.abc import Iterator

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.inventory.tallies import KnownCopy
from artifactctl.inventory.targets import Target
from artifactctl.recognition.sightings import Layout, Sighting

AT_ITS_PATH = (ReplicaState.BUILDING, ReplicaState.LIVE, ReplicaState.MISSING)
"""States in which the bytes are at the path, or may turn up there again."""

IN_FLUX = (ReplicaState.QUARANTINING, ReplicaState.RESTORING)
"""States in which an operation moves the bytes right now: neither compared nor called missing."""


ANNOUNCED = "announced"
"""The detail of an artifact whose writer registered it before writing it, and says itself when it is complete."""


class KnownCopies:
    """The copies at or below a target, by their path relative to the root."""

    def __init__(self, catalog: Catalog, target: Target) -> None:
        self._copies: dict[bytes, KnownCopy] = {}
        self._names: dict[bytes, list[bytes]] = defaultdict(list)
        with catalog.reading() as reading:
            artifacts = list(reading.artifacts_below(target.root.root_id, target.relative))
            artifacts += reading.artifacts(state=ReplicaState.MISSING)
            if target.relative:
                here = reading.artifact_at(target.root.root_id, target.relative)
                artifacts += [here] if here is not None else []
        for artifact in artifacts:
            self._add(artifact, target)
        for relative in self._copies:
            folder, _, name = relative.rpartition(b"/")
            self._names[folder].append(name)

    def _add(self, artifact: Artifact, target: Target) -> None:
        for replica in artifact.replicas:
            ours = replica.root.root_id == target.root.root_id and target.covers(replica.relative)
            if ours and replica.state in AT_ITS_PATH + IN_FLUX:
                before = self._copies.get(replica.relative)
                if before is None or before.replica.state is ReplicaState.MISSING:
                    self._copies[replica.relative] = KnownCopy(artifact=artifact, replica=replica)

    def at(self, relative: bytes) -> KnownCopy | None:
        """Return the copy whose top is at the path."""
        return self._copies.get(relative)

    def all(self) -> Iterator[tuple[bytes, KnownCopy]]:
        """Yield every copy with its path."""
        yield from self._copies.items()

    def names_in(self, folder: bytes) -> frozenset[bytes]:
        """Return the names directly in a folder at which copies are."""
        return frozenset(self._names.get(folder, ()))

    def sighting(self, relative: bytes) -> Sighting | None:
        """Return the copy at the path as recognition takes it."""
        known = self._copies.get(relative)
        if known is None:
            return None
        return Sighting(
            kind=known.artifact.kind,
            relative=relative,
            is_directory=known.replica.is_directory,
            layout=layout_of(known.artifact),
            tokens=known.artifact.tokens,
            records=known.artifact.records,
            unfinished=not known.artifact.sealed,
        )


def layout_of(artifact: Artifact) -> Layout:
    """Return the layout that was recorded with the artifact."""
    recorded = dict(artifact.details).get("layout", "")
    return Layout(recorded) if recorded in {layout.value for layout in Layout} else Layout.DECLARED


def is_announced(artifact: Artifact) -> bool:
    """Whether its writer said that it would say when the artifact is complete."""
    return ANNOUNCED in dict(artifact.details)
