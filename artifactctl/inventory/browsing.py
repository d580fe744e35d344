"""Looking at the catalog: lists, portraits, families. Each answer comes from one consistent look."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ArtifactKind, ReplicaState
from artifactctl.report.artifacts import Listing, Sort, sorted_artifacts, state_of
from artifactctl.report.lineage import Family
from artifactctl.report.portrait import Portrait


def list_artifacts(
    reading: Reading, *, kind: ArtifactKind | None, state: ReplicaState | None, sort: Sort, now: datetime
) -> Listing:
    """Return the artifacts of a kind and in a state (that of the copy that stands for the artifact)."""
    found = [a for a in reading.artifacts(kind=kind) if state is None or state_of(a) is state]
    return listing_of(reading, sorted_artifacts(found, sort), now=now)


def listing_of(reading: Reading, artifacts: Sequence[Artifact], *, now: datetime) -> Listing:
    """Return the artifacts with the host names and the number of holds and leases beside them."""
    return Listing(
        artifacts=tuple(artifacts),
        host_names={host.host_id: host.name for host in reading.hosts_ever()},
        holds=Counter(hold.artifact_id for hold in reading.holds()),
        leases=Counter(lease.artifact_id for lease in reading.leases(now)),
    )


def portrait_of(reading: Reading, artifact: Artifact, *, now: datetime) -> Portrait:
    """Return everything the catalog says about one artifact."""
    key = artifact.artifact_id
    edges = (*reading.parents(key), *reading.children(key))
    ends = {end for edge in edges for end in (edge.child_id, edge.parent_id)} - {key}
    return Portrait(
        artifact=artifact,
        listing=listing_of(reading, (artifact,), now=now),
        relatives=_by_id(reading, ends),
        edges=edges,
        holds=reading.holds(artifact_ids=(key,)),
        leases=reading.leases(now, artifact_ids=(key,)),
        runs=reading.runs(artifact_id=key),
        now=now,
        archives=reading.archives(artifact_ids=(key,)),
        division=reading.division(key),
        shares=reading.shares(key),
    )


def family_of(reading: Reading, artifact: Artifact, *, up: bool, down: bool) -> Family:
    """Return the artifact with what it came from (`up`) and what came from it (`down`), however far."""
    key = artifact.artifact_id
    above = set(reading.ancestors(key)) if up else set()
    below = set(reading.descendants(key)) if down else set()
    within = tuple(
        edge
        for edge in reading.edges()
        if {edge.child_id, edge.parent_id} <= above | {key} or {edge.child_id, edge.parent_id} <= below | {key}
    )
    relatives = _by_id(reading, above | below)
    return Family(
        center=key,
        artifacts={key: artifact} | {relative.artifact_id: relative for relative in relatives},
        edges=within,
        up=up,
        down=down,
    )


def _by_id(reading: Reading, keys: set[int]) -> tuple[Artifact, ...]:
    found = (reading.artifact_by_id(key) for key in sorted(keys))
    return tuple(artifact for artifact in found if artifact is not None)
