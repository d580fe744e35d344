"""Rows to domain values: the one file that knows both."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row

from artifactctl.catalog.columns import canonical_json
from artifactctl.domain.accounts import Signature
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    Hold,
    Lease,
    LineageEdge,
    LineageRole,
    Replica,
    ReplicaState,
    Reservation,
    Root,
    Run,
    RunState,
    VerifyLevel,
)
from artifactctl.domain.ledger import (
    Approval,
    CatalogIdentity,
    KnownHost,
    KnownVolume,
    Measurement,
    Operation,
    PlanState,
    SavedPlan,
    Sighting,
    Verification,
)
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.uptime import Uptime

AnyRow = Row[*tuple[Any, ...]]


def to_identity(row: AnyRow) -> CatalogIdentity:
    """Return the row of `catalog_identity` as a value."""
    return CatalogIdentity(
        lineage_id=row.lineage_id,
        epoch=row.epoch,
        revision=row.revision,
        created_at=row.created_at,
        written_at=row.written_at,
        lineage_confirmed_at=row.lineage_confirmed_at,
        moved_to=row.moved_to or "",
    )


def to_host(row: AnyRow) -> KnownHost:
    """Return a row of `host` as a value."""
    return KnownHost(
        host_id=row.id,
        name=row.name,
        machine_id=row.machine_id,
        address=row.address,
        host_key=row.host_key,
        uses_sudo=row.uses_sudo,
        forgotten_at=row.forgotten_at,
        own_keys=tuple(row.own_keys or ()),
    )


def to_volume(row: AnyRow) -> KnownVolume:
    """Return a row of `volume` as a value."""
    return KnownVolume(
        filesystem_uuid=row.filesystem_uuid,
        host_id=row.host_id,
        mount=row.mount,
        filesystem_type=row.filesystem_type,
        device=row.device,
        size_bytes=row.size_bytes,
        seen_at=row.seen_at,
    )


def to_root(row: AnyRow) -> Root:
    """Return a row of `root` as a value."""
    return Root(
        root_id=row.id,
        name=row.name,
        host_id=row.host_id,
        path=row.path,
        filesystem_uuid=row.filesystem_uuid,
        filesystem_type=row.filesystem_type,
        inode=row.inode,
        attestation=row.attestation,
        is_managed=row.forgotten_at is None,
    )


def to_replica(row: AnyRow, root: Root) -> Replica:
    """Return a row of `replica` as a value."""
    return Replica(
        replica_id=row.id,
        artifact_id=row.artifact_id,
        root=root,
        relative=row.relative,
        state=ReplicaState(row.state),
        generation=row.generation,
        is_directory=row.is_directory,
        files=row.files,
        apparent_bytes=row.apparent_bytes,
        allocated_bytes=row.allocated_bytes,
        member_digest=row.member_digest,
        fingerprint=row.fingerprint,
        observed_at=row.observed_at,
        verified_at=row.verified_at,
        verified_level=VerifyLevel(row.verified_level) if row.verified_level else None,
        verified_fingerprint=row.verified_fingerprint,
    )


def to_artifact(row: AnyRow, replicas: Sequence[Replica], metrics: Mapping[str, float]) -> Artifact:
    """Return a row of `artifact`, with the name of its successor as `superseded_by`, as a value."""
    return Artifact(
        artifact_id=row.id,
        name=row.name,
        kind=ArtifactKind(row.kind),
        created_at=row.created_at,
        tokens=row.tokens,
        records=row.records,
        content_digest=row.content_digest,
        sealed=row.sealed,
        superseded_by=row.superseded_by,
        labels=_pairs(row.labels),
        metrics=tuple(sorted(metrics.items())),
        details=_pairs(row.details),
        replicas=tuple(replicas),
    )


def to_edge(row: AnyRow) -> LineageEdge:
    """Return a row of `lineage_edge` as a value."""
    return LineageEdge(
        child_id=row.child_id, parent_id=row.parent_id, role=LineageRole(row.role), recorded_at=row.recorded_at
    )


def to_run(row: AnyRow, inputs: Sequence[int], outputs: Sequence[int]) -> Run:
    """Return a row of `run` as a value."""
    return Run(
        run_id=row.id,
        stage=row.stage,
        state=RunState(row.state),
        command=row.command,
        started_at=row.started_at,
        finished_at=row.finished_at,
        duration_seconds=row.duration_seconds,
        cost_gpu_hours=row.cost_gpu_hours,
        cost_usd=row.cost_usd,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )


def to_lease(row: AnyRow) -> Lease:
    """Return a row of `lease`, with the artifact's name, as a value."""
    return Lease(
        lease_id=row.lease_id,
        artifact_id=row.artifact_id,
        artifact_name=row.artifact_name,
        owner=row.owner,
        host=row.host,
        pid=row.pid,
        pid_started=row.pid_started,
        command=row.command,
        granted_at=row.granted_at,
        expires_at=row.expires_at,
        fence=row.fence,
    )


def to_hold(row: AnyRow) -> Hold:
    """Return a row of `hold`, with the artifact's name, as a value."""
    return Hold(
        hold_id=row.id,
        artifact_id=row.artifact_id,
        artifact_name=row.artifact_name,
        reason=row.reason,
        actor=row.actor,
        placed_at=row.placed_at,
        until=row.until,
    )


def to_reservation(row: AnyRow) -> Reservation:
    """Return a row of `reservation` as a value."""
    return Reservation(
        reservation_id=row.id,
        filesystem_uuid=row.filesystem_uuid,
        host_id=row.host_id,
        path=row.path,
        reserved_bytes=row.reserved_bytes,
        filled_bytes=row.filled_bytes,
        purpose=row.purpose,
        actor=row.actor,
        made_at=row.made_at,
        expires_at=row.expires_at,
    )


def to_operation(row: AnyRow) -> Operation:
    """Return a row of `operation`, with the artifact's name, as a value."""
    return Operation(
        operation_id=row.id,
        artifact_id=row.artifact_id,
        artifact_name=row.artifact_name,
        replica_id=row.replica_id,
        root_id=row.root_id,
        state=JournalEvent(row.state),
        plan_digest=row.plan_digest,
        step_index=row.step_index,
        reason=row.reason,
        waivers=tuple(row.waivers),
        actor=row.actor,
        original=row.original,
        placed=row.placed,
        fingerprint=row.fingerprint,
        expected_freed_bytes=row.expected_freed_bytes,
        measured_freed_bytes=row.measured_freed_bytes,
        grace_until=row.grace_until,
        started_at=row.started_at,
        updated_at=row.updated_at,
        aside_since=_to_uptime(row),
    )


def _to_uptime(row: AnyRow) -> Uptime | None:
    if row.aside_uptime_us is None:
        return None
    return Uptime(
        machine_id=row.aside_machine_id,
        boot_id=row.aside_boot_id,
        since_boot=timedelta(microseconds=row.aside_uptime_us),
    )


def to_plan(row: AnyRow, used_steps: Sequence[int]) -> SavedPlan:
    """Return a row of `plan` as a value."""
    return SavedPlan(
        digest=row.digest,
        document=row.document,
        state=PlanState(row.state),
        actor=row.actor,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_steps=tuple(used_steps),
        planner=None
        if row.planner is None
        else Signature(actor=row.planner, database_user=row.planner_database_user or ""),
    )


def to_approval(row: AnyRow) -> Approval:
    """Return a row of `approval` as a value."""
    return Approval(
        digest=row.digest,
        actor=row.actor,
        reason=row.reason,
        approved_at=row.approved_at,
        database_user=row.database_user or "",
    )


def to_verification(row: AnyRow) -> Verification:
    """Return a row of `verification` as a value."""
    return Verification(
        replica_id=row.replica_id,
        level=VerifyLevel(row.level),
        ok=row.ok,
        problems=tuple(row.problems),
        fingerprint=row.fingerprint,
        verified_at=row.verified_at,
    )


def to_measurement(row: AnyRow) -> Measurement:
    """Return a row of `measurement` as a value."""
    return Measurement(
        artifact_id=row.artifact_id,
        metric=row.metric,
        value=row.value,
        source=row.source,
        measured_at=row.measured_at,
    )


def to_sighting(row: AnyRow) -> Sighting:
    """Return a row of `observation` as a value."""
    return Sighting(replica_id=row.replica_id, observed_at=row.observed_at, summary=canonical_json(row.summary))


def _pairs(value: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, text) for key, text in value)
