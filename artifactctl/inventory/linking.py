"""Lineage and measurements that a person states."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.artifacts import Artifact, LineageEdge
from artifactctl.domain.audit import AuditEntry, JsonValue
from artifactctl.domain.errors import UsageError
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.failures import UnfitLink, UnknownName
from artifactctl.inventory.roles import role_for, split_input
from artifactctl.inventory.targets import artifact_meant


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input as a person means it; `role` is "" where the usual one is meant."""

    parent_id: int
    role: str


def link(
    host: Host, catalog: Catalog, child: str, inputs: Sequence[str], *, now: datetime, actor: str
) -> tuple[LineageEdge, ...]:
    """Record what `child` came from or needs; each input is `NAME[:ROLE]`. All or none."""
    hostname = host.identify().hostname
    meant = inputs_meant(host, catalog, inputs)
    with catalog.reading() as reading:
        child_id = artifact_meant(host, reading, child).artifact_id
    with catalog.writing(actor, now) as writing:
        return tuple(link_in(writing, child_id, item, hostname=hostname) for item in meant)


def inputs_meant(host: Host, catalog: Catalog, words: Sequence[str]) -> tuple[Input, ...]:
    """Return what `NAME[:ROLE]` words mean."""
    meant = []
    with catalog.reading() as reading:
        for word in words:
            name, role = split_input(word)
            meant.append(Input(parent_id=artifact_meant(host, reading, name).artifact_id, role=role))
    return tuple(meant)


def link_in(writing: Writing, child_id: int, meant: Input, *, hostname: str) -> LineageEdge:
    """Record one input within the caller's transaction."""
    child, parent = _existing(writing, child_id), _existing(writing, meant.parent_id)
    role = role_for(child, parent, meant.role)
    writing.add_lineage(child_id, meant.parent_id, role)
    _audit(writing, "linked", child.name, hostname, {"parent": parent.name, "role": role.value})
    return LineageEdge(child_id=child_id, parent_id=meant.parent_id, role=role)


def supersede(host: Host, catalog: Catalog, old: str, by: str, *, now: datetime, actor: str) -> Artifact:
    """Record that the artifact `by` takes the place of `old`; return `old` as it is now."""
    hostname = host.identify().hostname
    with catalog.reading() as reading:
        before, after = artifact_meant(host, reading, old), artifact_meant(host, reading, by)
    with catalog.writing(actor, now) as writing:
        return supersede_in(writing, before.artifact_id, after.artifact_id, hostname=hostname)


def supersede_in(writing: Writing, old_id: int, new_id: int, *, hostname: str) -> Artifact:
    """Record a successor within the caller's transaction; it must be living and of the same kind."""
    before, after = _existing(writing, old_id), _existing(writing, new_id)
    if before.kind is not after.kind:
        raise UnfitLink(
            f"{after.name}, a {after.kind.value}, cannot take the place of {before.name}, a {before.kind.value}",
            remedy="name a successor of the same kind",
        )
    if not after.is_live:
        raise UnfitLink(f"{after.name} has no living copy", remedy=f"artifactctl show {after.name}")
    writing.supersede(old_id, new_id)
    _audit(writing, "superseded", before.name, hostname, {"by": after.name})
    return _existing(writing, old_id)


def _existing(writing: Writing, artifact_id: int) -> Artifact:
    found = writing.artifact_by_id(artifact_id)
    if found is None:  # rows are never deleted
        raise UnknownName(f"there is no artifact with the number {artifact_id}", remedy="artifactctl ls")
    return found


def record(
    host: Host,
    catalog: Catalog,
    name: str,
    metrics: Mapping[str, float],
    *,
    now: datetime,
    actor: str,
    source: str = "",
) -> Artifact:
    """Record measurements from elsewhere as evidence about an artifact; finite numbers under plain names."""
    for metric, value in metrics.items():
        if not metric or not metric.isprintable() or not math.isfinite(value):
            raise UsageError(f"{metric!r} = {value} is no measurement", remedy="--metric NAME=NUMBER")
    if not metrics:
        raise UsageError("nothing to record", remedy="--metric NAME=NUMBER")
    hostname = host.identify().hostname
    with catalog.reading() as reading:
        artifact = artifact_meant(host, reading, name)
    with catalog.writing(actor, now) as writing:
        for metric, value in metrics.items():
            writing.add_measurement(artifact.artifact_id, metric, value, source=source)
        _audit(writing, "measured", artifact.name, hostname, {"metrics": dict(metrics), "source": source})
        return _existing(writing, artifact.artifact_id)


def _audit(writing: Writing, action: str, name: str, hostname: str, evidence: dict[str, JsonValue]) -> None:
    audit.append(
        writing.connection,
        AuditEntry(at=writing.now, actor=writing.actor, host=hostname, action=action, artifact=name, evidence=evidence),
    )
