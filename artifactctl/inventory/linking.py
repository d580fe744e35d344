"""Lineage and measurements that a person states."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artifactctl import audit
from artifactctl.catalog import Catalog, Writing
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, LineageEdge
from artifactctl.domain.audit import AuditAction, AuditEntry, JsonValue
from artifactctl.domain.errors import UsageError
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.failures import UnfitLink
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.places import Here
from artifactctl.inventory.roles import role_for, split_input


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input as a person means it; `role` is "" where the usual one is meant."""

    parent_id: int
    role: str


def link(catalog: Catalog, child: str, inputs: Sequence[str], *, here: Here, acting: Acting) -> tuple[LineageEdge, ...]:
    """Record what `child` came from or needs; each input is `NAME[:ROLE]`. All or none."""
    meant = inputs_meant(catalog, inputs, here=here)
    with catalog.reading() as reading:
        child_id = find_artifact(reading, child, here=here).artifact_id
    with catalog.writing(acting.actor, acting.now) as writing:
        return tuple(link_in(writing, child_id, item, hostname=acting.host) for item in meant)


def inputs_meant(catalog: Catalog, words: Sequence[str], *, here: Here) -> tuple[Input, ...]:
    """Return what `NAME[:ROLE]` words mean."""
    meant = []
    with catalog.reading() as reading:
        for word in words:
            name, role = split_input(word)
            meant.append(Input(parent_id=find_artifact(reading, name, here=here).artifact_id, role=role))
    return tuple(meant)


def link_in(writing: Writing, child_id: int, meant: Input, *, hostname: str) -> LineageEdge:
    """Record one input within the caller's transaction."""
    child, parent = _existing(writing, child_id), _existing(writing, meant.parent_id)
    role = role_for(child, parent, meant.role)
    writing.add_lineage(child_id, meant.parent_id, role)
    _audit(writing, AuditAction.LINEAGE_LINK, child.name, hostname, {"parent": parent.name, "role": role.value})
    return LineageEdge(child_id=child_id, parent_id=meant.parent_id, role=role)


def supersede(catalog: Catalog, old: str, by: str, *, here: Here, acting: Acting) -> Artifact:
    """Record that the artifact `by` takes the place of `old`; return `old` as it is now."""
    with catalog.reading() as reading:
        before, after = (find_artifact(reading, word, here=here) for word in (old, by))
    with catalog.writing(acting.actor, acting.now) as writing:
        return supersede_in(writing, before.artifact_id, after.artifact_id, hostname=acting.host)


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
    _audit(writing, AuditAction.ARTIFACT_SUPERSEDE, before.name, hostname, {"by": after.name})
    return _existing(writing, old_id)


def _existing(writing: Writing, artifact_id: int) -> Artifact:
    found = writing.artifact_by_id(artifact_id)
    if found is None:  # rows are never deleted
        raise UnknownObject(f"there is no artifact with the number {artifact_id}", remedy="artifactctl ls")
    return found


def record(
    catalog: Catalog, name: str, metrics: Mapping[str, float], *, here: Here, acting: Acting, source: str = ""
) -> Artifact:
    """Record measurements from elsewhere as evidence about an artifact; finite numbers under plain names."""
    for metric, value in metrics.items():
        if not metric or not metric.isprintable() or not math.isfinite(value):
            raise UsageError(f"{metric!r} = {value} is no measurement", remedy="--metric NAME=NUMBER")
    if not metrics:
        raise UsageError("nothing to record", remedy="--metric NAME=NUMBER")
    with catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=here)
    with catalog.writing(acting.actor, acting.now) as writing:
        for metric, value in metrics.items():
            writing.add_measurement(artifact.artifact_id, metric, value, source=source)
        _audit(
            writing,
            AuditAction.ARTIFACT_MEASURE,
            artifact.name,
            acting.host,
            {"metrics": dict(metrics), "source": source},
        )
        return _existing(writing, artifact.artifact_id)


def _audit(writing: Writing, action: AuditAction, name: str, hostname: str, evidence: dict[str, JsonValue]) -> None:
    audit.append(
        writing.connection,
        AuditEntry(at=writing.now, actor=writing.actor, host=hostname, action=action, artifact=name, evidence=evidence),
    )
