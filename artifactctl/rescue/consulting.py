"""Reads what the catalog says about one filesystem; never writes."""

import posixpath
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.text import printable
from artifactctl.domain.uptime import Uptime
from artifactctl.inventory.candidates import trust_in
from artifactctl.inventory.giving_up import reclaim_candidates
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim.quarantined import Quarantined, in_quarantine, unproven_grace
from artifactctl.rescue.knowledge import Knowledge, Known, SetAside

_THERE = (ReplicaState.LIVE, ReplicaState.BUILDING, ReplicaState.ARCHIVING)


def read_knowledge(
    reading: Reading, roots: Sequence[Root], *, now: datetime, policy: Policy, clock_trusted: bool, uptime: Uptime
) -> Knowledge:
    """Return what the catalog alone says about the roots of a volume; they are asked by what is suggested.

    `uptime` is that of their machine.
    """
    trust = trust_in(reading, now=now)
    artifacts = reading.artifacts()
    inside = frozenset(root.root_id for root in roots)
    offered = {
        candidate.name: candidate
        for candidate in reclaim_candidates(reading, roots, policy=policy, trust=trust, now=now)
        if not candidate.set_aside
    }
    promised = _promises(reading, now)
    needed = _needed(reading, artifacts)
    by_path = {
        _path(replica): Known(
            name=artifact.name,
            superseded=artifact.name in offered and offered[artifact.name].superseded,
            repeatable=artifact.name in offered,
            promised=promised.get(artifact.artifact_id, ()),
            needed_by=needed.get(artifact.artifact_id, ""),
        )
        for artifact, replica in _copies(artifacts, inside)
    }
    aside = [item for item in in_quarantine(reading) if item.replica.root.root_id in inside]
    return Knowledge(
        by_path=by_path,
        set_aside=tuple(_set_aside(item, now, uptime) for item in aside),
        clock_trusted=clock_trusted,
    )


def _set_aside(item: Quarantined, now: datetime, uptime: Uptime) -> SetAside:
    until = item.operation.grace_until
    return SetAside(
        operation=item.operation.operation_id,
        kind=item.artifact.kind.value,
        original=item.entry.original,
        allocated_bytes=item.replica.allocated_bytes,
        freed_bytes=item.operation.expected_freed_bytes,
        since=item.operation.started_at,
        grace_until=until if until is None else max(until, now + unproven_grace(item, uptime)),
    )


def _copies(artifacts: Iterable[Artifact], inside: Collection[str]) -> Iterable[tuple[Artifact, Replica]]:
    for artifact in artifacts:
        for replica in artifact.replicas:
            if replica.state in _THERE and replica.root.root_id in inside:
                yield artifact, replica


def _path(replica: Replica) -> bytes:
    return posixpath.join(replica.root.path, replica.relative)


def _promises(reading: Reading, now: datetime) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for hold in reading.holds():
        said = f"hold by {printable(hold.actor)}: {printable(hold.reason)}"
        found[hold.artifact_id] = (*found.get(hold.artifact_id, ()), said)
    for lease in reading.leases(now):
        said = f"lease of {printable(lease.command or lease.owner)} on {printable(lease.host)}"
        found[lease.artifact_id] = (*found.get(lease.artifact_id, ()), said)
    return found


def _needed(reading: Reading, artifacts: Iterable[Artifact]) -> dict[int, str]:
    """Return the name of one living child that is useless without its parent, by the parent's number."""
    by_number = {artifact.artifact_id: artifact for artifact in artifacts}
    return {
        edge.parent_id: by_number[edge.child_id].name
        for edge in reading.edges()
        if edge.role.needs_parent and edge.child_id in by_number and by_number[edge.child_id].is_live
    }
