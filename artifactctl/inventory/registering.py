"""Registering by hand: a person says what something is, what it came from and what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from artifactctl.catalog import Catalog, PathTaken, Writing
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Run, RunState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.failures import NothingThere, UnfitRoot
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.linking import Input, inputs_meant, link_in, supersede_in
from artifactctl.inventory.naming import name_of
from artifactctl.inventory.outcomes import Outcomes, Progress
from artifactctl.inventory.places import NOWHERE, Here
from artifactctl.inventory.recording import CatalogRecorder, NewArtifact, NobodyRecords
from artifactctl.inventory.statements import STAGES, Statement
from artifactctl.inventory.stocktaking import Stocktaking
from artifactctl.inventory.targets import Target, local_roots, require_recorded_volume, target_at
from artifactctl.recognition.declarations import Declaration

__all__ = ["Statement", "register"]


def register(
    host: Host,
    catalog: Catalog,
    path: bytes,
    statement: Statement,
    *,
    here: Here = NOWHERE,
    now: datetime,
    actor: str,
    progress: Progress | None = None,
) -> Artifact:
    """Catalog what is at `path` as one artifact, or restate what is catalogued there already.

    Every file below becomes a member, save those of other artifacts inside (a checkpoint in a run). All statements
    hold or none does. Relative paths among the statement's words start at `here`. OutsideRoots when the path lies below
    no managed root.
    """
    target = target_for(host, catalog, path)
    meant = meant_by(catalog, statement, here=here)
    recorder = CatalogRecorder(catalog, target.root, hostname=host.identify().hostname, actor=actor, now=now)
    with catalog.reading() as reading:
        known = reading.artifact_at(target.root.root_id, target.relative)
    if known is not None and any(_is_here(replica, target) for replica in known.replicas):
        return _restate(catalog, recorder, known, statement, meant, now=now, actor=actor)
    refuse_part_of_another(catalog, target)
    new = measure(host, catalog, target, statement, progress)
    listed = recorder.list_beforehand(new)
    with catalog.writing(actor, now) as writing:
        artifact = recorder.add_in(writing, new, listed, labels=dict(statement.labels))
        recorder.audit_in(
            writing,
            AuditAction.ARTIFACT_REGISTER,
            artifact.name,
            target.relative,
            allocated_bytes=new.measured.allocated_bytes,
            reason="declared",
            kind=artifact.kind.value,
            files=new.measured.files,
            member_digest=new.measured.member_digest,
        )
        return state_in(writing, recorder, artifact, statement, meant)


def name_at(host: Host, catalog: Catalog, path: bytes) -> str:
    """Return what the artifact at the path is called, "" when nothing is registered there; errors as of `register`."""
    target = target_for(host, catalog, path)
    with catalog.reading() as reading:
        known = reading.artifact_at(target.root.root_id, target.relative)
    return known.name if known is not None and any(_is_here(replica, target) for replica in known.replicas) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The artifacts that a statement names."""

    inputs: tuple[Input, ...]
    superseded_id: int | None


def meant_by(catalog: Catalog, statement: Statement, *, here: Here) -> Meant:
    """Find the artifacts that a statement names, before anything is written; UnknownObject otherwise."""
    superseded_id = None
    if statement.supersedes:
        with catalog.reading() as reading:
            superseded_id = find_artifact(reading, statement.supersedes, here=here).artifact_id
    return Meant(inputs=inputs_meant(catalog, statement.inputs, here=here), superseded_id=superseded_id)


def target_for(host: Host, catalog: Catalog, path: bytes) -> Target:
    """Return the place that a path means, below a root that is there; OutsideRoots, UnfitRoot."""
    with catalog.reading() as reading:
        target = target_at(host, local_roots(host, reading), path)
    if not target.relative:
        raise UnfitRoot(
            f"{display_path(path)} is the root {target.root.name} itself",
            remedy="register a folder below it, or make its parent the root",
        )
    require_recorded_volume(host, target.root, catalog_id=catalog.lineage_id)
    return target


def refuse_part_of_another(catalog: Catalog, target: Target) -> None:
    """Refuse a path that is, or holds, members of an artifact around it: no file is in two artifacts."""
    with catalog.reading() as reading:
        for artifact in reading.artifacts_above(target.root.root_id, target.relative):
            for replica in artifact.replicas:
                if replica.root.root_id != target.root.root_id or not target.relative.startswith(
                    replica.relative + b"/"
                ):
                    continue
                inner = target.relative[len(replica.relative) + 1 :]
                if any(m[0] == inner or m[0].startswith(inner + b"/") for m in reading.members(artifact.artifact_id)):
                    raise PathTaken(
                        f"{display_path(target.absolute)} is part of {artifact.name}",
                        remedy=f"artifactctl show {artifact.name}",
                    )


def refuse_inside_another(catalog: Catalog, target: Target) -> None:
    """Refuse a place for something new in the folder of an artifact: there it would keep that one from ever going.

    What is there already may be registered: a checkpoint inside a run's folder is an artifact of its own.
    """
    refuse_part_of_another(catalog, target)
    with catalog.reading() as reading:
        around = reading.artifacts_above(target.root.root_id, target.relative)
    if around:
        outer = next(
            r for r in around[0].replicas if r.root == target.root and target.relative.startswith(r.relative + b"/")
        )
        beside = Target(root=target.root, relative=outer.relative + b"-" + target.relative.rpartition(b"/")[2])
        raise PathTaken(
            f"{display_path(target.absolute)} lies inside {around[0].name}",
            remedy=f"write it to a folder beside that, such as {display_path(beside.absolute)}",
        )


def _is_here(replica: Replica, target: Target) -> bool:
    return (
        replica.root.root_id == target.root.root_id
        and replica.relative == target.relative
        and replica.state in (ReplicaState.LIVE, ReplicaState.BUILDING)
    )


def measure(
    host: Host, catalog: Catalog, target: Target, statement: Statement, progress: Progress | None
) -> NewArtifact:
    """Walk what is at the target and return it as the statement says it is; NothingThere without a file of its own."""
    if host.identity(target.absolute) is None:
        raise NothingThere(f"nothing is at {display_path(target.absolute)}", remedy="check the path")
    keeper = _KeepOne(target.relative)
    outcomes = Outcomes(target.root, keeper, host_time=host.now(), progress=progress)
    declaration = Declaration(relative=target.relative, kind=statement.kind)
    Stocktaking(host, catalog, target, outcomes, declared=declaration).run()
    report = outcomes.report()
    if keeper.kept is None:
        if report.problems:
            raise HostFailure(report.problems[-1], remedy="make the folder readable, or run the command with sudo")
        raise NothingThere(f"{display_path(target.absolute)} holds no file of its own", remedy="check the path")
    sighting = keeper.kept.sighting
    stated = replace(
        sighting,
        tokens=sighting.tokens if statement.tokens is None else statement.tokens,
        records=sighting.records if statement.records is None else statement.records,
    )
    name = statement.name or name_of(target.root, target.relative)
    return replace(keeper.kept, name=name, sighting=stated)


def _restate(
    catalog: Catalog,
    recorder: CatalogRecorder,
    known: Artifact,
    statement: Statement,
    meant: Meant,
    *,
    now: datetime,
    actor: str,
) -> Artifact:
    with catalog.writing(actor, now) as writing:
        artifact = writing.update_artifact(
            known.artifact_id,
            name=statement.name or None,
            kind=statement.kind,
            tokens=statement.tokens,
            records=statement.records,
            labels=dict(known.labels) | dict(statement.labels) if statement.labels else None,
        )
        recorder.audit_in(
            writing,
            AuditAction.ARTIFACT_RESTATE,
            artifact.name,
            known.replicas[0].relative,
            allocated_bytes=artifact.allocated_bytes,
            name_before=known.name,
            kind_before=known.kind.value,
            kind=artifact.kind.value,
            tokens=artifact.tokens,
            records=artifact.records,
        )
        return state_in(writing, recorder, artifact, statement, meant)


def state_in(
    writing: Writing, recorder: CatalogRecorder, artifact: Artifact, statement: Statement, meant: Meant
) -> Artifact:
    """Record inputs, successor and run within the caller's transaction."""
    artifact_id = artifact.artifact_id
    for item in meant.inputs:
        link_in(writing, artifact_id, item, hostname=recorder.hostname)
    if meant.superseded_id is not None:
        supersede_in(writing, meant.superseded_id, artifact_id, hostname=recorder.hostname)
    current = writing.artifact_by_id(artifact_id) or artifact
    if statement.tells_of_a_run:
        run = _add_run(writing, current, statement, inputs=[item.parent_id for item in meant.inputs])
        recorder.audit_in(
            writing,
            AuditAction.RUN_RECORD,
            current.name,
            current.replicas[0].relative,
            stage=run.stage,
            duration_seconds=run.duration_seconds,
            cost_gpu_hours=run.cost_gpu_hours,
            cost_usd=run.cost_usd,
        )
    return current


def _add_run(writing: Writing, artifact: Artifact, statement: Statement, *, inputs: Sequence[int]) -> Run:
    duration = statement.run_time
    return writing.add_run(
        STAGES[artifact.kind],
        state=RunState.SUCCEEDED,
        duration_seconds=duration.total_seconds() if duration is not None else None,
        cost_gpu_hours=statement.cost_gpu_hours,
        cost_usd=statement.cost_usd,
        inputs=inputs,
        outputs=(artifact.artifact_id,),
    )


class _KeepOne(NobodyRecords):
    """Records nothing and keeps the one artifact that was declared."""

    def __init__(self, relative: bytes) -> None:
        self._relative = relative
        self.kept: NewArtifact | None = None

    def register(self, new: Sequence[NewArtifact]) -> tuple[str, ...]:
        for item in new:
            if item.sighting.relative == self._relative:
                self.kept = item
        return super().register(new)
