"""Artifacts that are catalogued before they are written, by the program that writes them.

Between `announce` and `seal` the copy is `building`: nothing may remove it, nothing counts it as a copy, and a scan
follows its growth (where it recognises the layout) without ever calling it complete, or its growth a drift. A writer
that died leaves it so: `artifactctl scan --accept NAME` takes it as it is.
"""

from dataclasses import replace
from datetime import datetime

from artifactctl.catalog import Catalog, StateChanged
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica, ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.failures import NothingThere
from artifactctl.inventory.known import ANNOUNCED
from artifactctl.inventory.naming import name_of
from artifactctl.inventory.outcomes import Progress
from artifactctl.inventory.places import NOWHERE, Here
from artifactctl.inventory.recording import CatalogRecorder
from artifactctl.inventory.registering import (
    Statement,
    meant_by,
    measure,
    refuse_part_of_another,
    state_in,
    target_for,
)
from artifactctl.inventory.tallies import KnownCopy
from artifactctl.inventory.targets import Target, is_file


def announce(
    host: Host,
    catalog: Catalog,
    path: bytes,
    statement: Statement,
    *,
    now: datetime,
    actor: str,
    here: Here = NOWHERE,
) -> Artifact:
    """Catalog the existing folder or file at `path` as being written; PathTaken when something lives there already."""
    target = target_for(host, catalog, path)
    if host.identity(target.absolute) is None:
        raise NothingThere(f"nothing is at {display_path(target.absolute)}", remedy="make the folder first")
    is_directory = not is_file(next(iter(host.walk(target.absolute))))
    refuse_part_of_another(catalog, target)
    meant = meant_by(catalog, statement, here=here)
    recorder = _recorder(host, catalog, target, now=now, actor=actor)
    with catalog.writing(actor, now) as writing:
        artifact = writing.add_artifact(
            statement.name or name_of(target.root, target.relative),
            statement.kind or ArtifactKind.OTHER,
            tokens=statement.tokens,
            records=statement.records,
            sealed=False,
            labels=dict(statement.labels),
            details={ANNOUNCED: "yes"},
        )
        writing.add_replica(
            artifact.artifact_id,
            target.root.root_id,
            target.relative,
            is_directory=is_directory,
            files=0,
            apparent_bytes=0,
            allocated_bytes=0,
            member_digest="",
            fingerprint="",
            observed_at=now,
            state=ReplicaState.BUILDING,
        )
        recorder.audit_in(
            writing, AuditAction.ARTIFACT_ANNOUNCE, artifact.name, target.relative, kind=artifact.kind.value
        )
        return state_in(writing, recorder, artifact, statement, meant)


def seal(
    host: Host,
    catalog: Catalog,
    artifact: Artifact,
    *,
    tokens: int | None,
    records: int | None,
    now: datetime,
    actor: str,
    progress: Progress | None = None,
) -> Artifact:
    """Measure what was written and make it `live`: from here on its members and sizes are fixed.

    StateChanged when no copy of it is being built.
    """
    known, replica = _being_built(catalog, artifact)
    target = Target(root=replica.root, relative=replica.relative)
    said = Statement(kind=known.kind, name=known.name, tokens=tokens, records=records)
    new = measure(host, catalog, target, said, progress)
    recorder = _recorder(host, catalog, target, now=now, actor=actor)
    copy = KnownCopy(artifact=known, replica=replica)
    recorder.replace_members(copy, replace(new, unfinished=False), action=AuditAction.ARTIFACT_SEAL, drift=None)
    with catalog.reading() as reading:
        return reading.artifact_by_id(known.artifact_id) or known


def _being_built(catalog: Catalog, artifact: Artifact) -> tuple[Artifact, Replica]:
    with catalog.reading() as reading:
        known = reading.artifact_by_id(artifact.artifact_id) or artifact
    for replica in known.replicas:
        if replica.state is ReplicaState.BUILDING:
            return known, replica
    states = ", ".join(sorted({replica.state.value for replica in known.replicas})) or "nowhere"
    raise StateChanged(f"{known.name} is not being written: it is {states}", remedy=f"artifactctl show {known.name}")


def _recorder(host: Host, catalog: Catalog, target: Target, *, now: datetime, actor: str) -> CatalogRecorder:
    return CatalogRecorder(catalog, target.root, hostname=host.identify().hostname, actor=actor, now=now)
