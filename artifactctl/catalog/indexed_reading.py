"""The same answers as `Reading`, from memory: for judging many artifacts in one look."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from artifactctl.catalog.artifact_queries import PRESENT
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    Hold,
    Lease,
    LineageEdge,
    ReplicaState,
    Reservation,
    Run,
)

_T = TypeVar("_T")


class IndexedReading(Reading):
    """Loads artifacts, lineage, promises and runs once each, when first asked for, instead of asking for every one.

    What is written meanwhile in the same transaction is not seen: it is for looks that write nothing.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading.connection, uptime=reading.uptime)
        self._named: dict[str, Artifact | None] = {}
        self._leases: dict[datetime, tuple[Lease, ...]] = {}
        self._reservations: dict[datetime, tuple[Reservation, ...]] = {}

    @cached_property
    def _by_id(self) -> dict[int, Artifact]:
        return {artifact.artifact_id: artifact for artifact in super().artifacts()}

    @cached_property
    def _places(self) -> dict[str, list[tuple[bytes, Artifact]]]:
        """By root: (relative path, artifact) of all bytes that are there, in byte order."""
        places: dict[str, list[tuple[bytes, Artifact]]] = defaultdict(list)
        for artifact in self._by_id.values():
            for replica in artifact.replicas:
                if replica.state in PRESENT:
                    places[replica.root.root_id].append((replica.relative, artifact))
        return {root_id: sorted(found, key=lambda pair: pair[0]) for root_id, found in places.items()}

    @cached_property
    def _edges_by_child(self) -> dict[int, list[LineageEdge]]:
        return _grouped((edge.child_id, edge) for edge in self.edges())

    @cached_property
    def _edges_by_parent(self) -> dict[int, list[LineageEdge]]:
        return _grouped((edge.parent_id, edge) for edge in self.edges())

    @cached_property
    def _runs_by_artifact(self) -> dict[int, list[Run]]:
        runs = super().runs()
        return _grouped((key, run) for run in runs for key in {*run.inputs, *run.outputs})

    @cached_property
    def _all_holds(self) -> tuple[Hold, ...]:
        return super().holds()

    def artifacts(
        self,
        *,
        kind: ArtifactKind | None = None,
        state: ReplicaState | None = None,
        names: Collection[str] | None = None,
        numbers: Collection[int] | None = None,
    ) -> tuple[Artifact, ...]:
        if names is not None:
            return super().artifacts(kind=kind, state=state, names=names, numbers=numbers)
        chosen = self._by_id if numbers is None else frozenset(numbers)
        return tuple(
            artifact
            for artifact in self._by_id.values()  # by name, as they were read
            if artifact.artifact_id in chosen
            and kind in (None, artifact.kind)
            and (state is None or any(replica.state is state for replica in artifact.replicas))
        )

    def artifact(self, name: str) -> Artifact | None:
        if name not in self._named:
            self._named[name] = super().artifact(name)
        return self._named[name]

    def artifact_by_id(self, artifact_id: int) -> Artifact | None:
        return self._by_id.get(artifact_id)

    def artifacts_below(self, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
        places = self._places.get(root_id, [])
        if not relative:
            return tuple(dict.fromkeys(artifact for _, artifact in places))
        first = bisect_left(places, relative + b"/", key=lambda pair: pair[0])
        last = bisect_left(places, relative + b"0", key=lambda pair: pair[0])  # b"0" follows b"/"
        return tuple(dict.fromkeys(artifact for _, artifact in places[first:last]))

    def artifacts_above(self, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
        places = self._places.get(root_id, [])
        parts = relative.split(b"/")
        found: dict[Artifact, None] = {}
        for depth in range(1, len(parts)):
            folder = b"/".join(parts[:depth])
            place = bisect_left(places, folder, key=lambda pair: pair[0])
            while place < len(places) and places[place][0] == folder:
                found[places[place][1]] = None
                place += 1
        return tuple(found)

    def parents(self, artifact_id: int) -> tuple[LineageEdge, ...]:
        return tuple(self._edges_by_child.get(artifact_id, ()))

    def children(self, artifact_id: int) -> tuple[LineageEdge, ...]:
        return tuple(self._edges_by_parent.get(artifact_id, ()))

    def runs(self, *, stage: str | None = None, artifact_id: int | None = None) -> tuple[Run, ...]:
        if artifact_id is None:
            return super().runs(stage=stage)
        found = self._runs_by_artifact.get(artifact_id, ())
        return tuple(run for run in found if stage is None or run.stage == stage)

    def holds(self, *, artifact_ids: Collection[int] | None = None) -> tuple[Hold, ...]:
        return tuple(h for h in self._all_holds if artifact_ids is None or h.artifact_id in artifact_ids)

    def leases(self, now: datetime, *, artifact_ids: Collection[int] | None = None) -> tuple[Lease, ...]:
        if now not in self._leases:
            self._leases[now] = super().leases(now)
        return tuple(x for x in self._leases[now] if artifact_ids is None or x.artifact_id in artifact_ids)

    def reservations(self, now: datetime, *, filesystem_uuid: str | None = None) -> tuple[Reservation, ...]:
        if now not in self._reservations:
            self._reservations[now] = super().reservations(now)
        kept = self._reservations[now]
        return tuple(r for r in kept if filesystem_uuid is None or r.filesystem_uuid == filesystem_uuid)


def _grouped(pairs: Iterable[tuple[int, _T]]) -> dict[int, list[_T]]:
    groups: dict[int, list[_T]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups
