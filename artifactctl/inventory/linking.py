"""Lineage and measurements that a person states."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.artifacts import Artifact, LineageEdge
from artifactctl.domain.audit import AuditEntry, JsonValue
from artifactctl.domain.errors import UsageError
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.failures import UnfitLink
from artifactctl.inventory.roles import role_for, split_input
from artifactctl.inventory.targets import artifact_meant


def link(
    host: Host, catalog: Catalog, child: str, inputs: Sequence[str], *, now: datetime, actor: str
) -> tuple[LineageEdge, ...]:
    """Record what `child` came from or needs; each input is `NAME[:ROLE]`. All or none."""
    hostname = host.identify().hostname
    with catalog.writing(actor, now) as writing:
        artifact = artifact_meant(host, writing, child)
        return tuple(link_in(host, writing, artifact, word, hostname=hostname) for word in inputs)


def link_in(host: Host, writing: Writing, child: Artifact, word: str, *, hostname: str) -> LineageEdge:
    """Record one input within the caller's transaction."""
    name, asked = split_input(word)
    parent = artifact_meant(host, writing, name)
    role = role_for(child, parent, asked)
    writing.add_lineage(child.artifact_id, parent.artifact_id, role)
    _audit(writing, "linked", child.name, hostname, {"parent": parent.name, "role": role.value})
    return LineageEdge(child_id=child.artifact_id, parent_id=parent.artifact_id, role=role)


def supersede(host: Host, catalog: Catalog, old: str, by: str, *, now: datetime, actor: str) -> Artifact:
    """Record that the artifact `by` takes the place of `old`; return `old` as it is now."""
    hostname = host.identify().hostname
    with catalog.writing(actor, now) as writing:
        return supersede_in(host, writing, old, by, hostname=hostname)


def supersede_in(host: Host, writing: Writing, old: str, by: str, *, hostname: str) -> Artifact:
    """Record a successor within the caller's transaction; it must be living and of the same kind."""
    before, after = artifact_meant(host, writing, old), artifact_meant(host, writing, by)
    if before.kind is not after.kind:
        raise UnfitLink(
            f"{after.name}, a {after.kind.value}, cannot take the place of {before.name}, a {before.kind.value}",
            remedy="name a successor of the same kind",
        )
    if not after.is_live:
        raise UnfitLink(f"{after.name} has no living copy", remedy=f"artifactctl show {after.name}")
    writing.supersede(before.artifact_id, after.artifact_id)
    _audit(writing, "superseded", before.name, hostname, {"by": after.name})
    found = writing.artifact_by_id(before.artifact_id)
    return found or before


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
    with catalog.writing(actor, now) as writing:
        artifact = artifact_meant(host, writing, name)
        for metric, value in metrics.items():
            writing.add_measurement(artifact.artifact_id, metric, value, source=source)
        _audit(writing, "measured", artifact.name, hostname, {"metrics": dict(metrics), "source": source})
        return writing.artifact_by_id(artifact.artifact_id) or artifact


def _audit(writing: Writing, action: str, name: str, hostname: str, evidence: dict[str, JsonValue]) -> None:
    audit.append(
        writing.connection,
        AuditEntry(at=writing.now, actor=writing.actor, host=hostname, action=action, artifact=name, evidence=evidence),
    )
