"""What the catalog alone says could be given up on a volume; the guards still have to look at each on the machine."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, LineageEdge, LineageRole, Replica, ReplicaState, Run, RunState
from artifactctl.domain.operations import JournalEvent


def reclaim_candidates(
    reading: Reading, filesystem_uuid: str, *, now: datetime, grace: timedelta
) -> tuple[ReclaimCandidate, ...]:
    """Return what is in quarantine on the volume, and what the built-in rules would offer there.

    Offered is what a verified successor supersedes, and what a recorded run can make again from inputs that are alive;
    never what is held, leased, still growing, or needed by something alive. A fresh quarantine frees nothing before its
    grace has passed.
    """
    return (
        *_set_aside(reading, filesystem_uuid, now=now),
        *_in_place(_World(reading, now=now), filesystem_uuid, free_from=now + grace),
    )


def _set_aside(reading: Reading, filesystem_uuid: str, *, now: datetime) -> Iterable[ReclaimCandidate]:
    for operation in reading.operations(states=(JournalEvent.QUARANTINED,)):
        replica = reading.replica(operation.replica_id)
        if replica is None or replica.root.filesystem_uuid != filesystem_uuid or operation.grace_until is None:
            continue
        yield ReclaimCandidate(
            name=operation.artifact_name,
            freed_bytes=operation.expected_freed_bytes,
            superseded=False,
            regenerate_cost=None,
            created_at=operation.started_at,
            available_at=max(now, operation.grace_until),
            set_aside=True,
            allocated_bytes=replica.allocated_bytes,
            freed_files=replica.files,
        )


def _in_place(world: "_World", filesystem_uuid: str, *, free_from: datetime) -> Iterable[ReclaimCandidate]:
    for artifact in world.artifacts.values():
        live = [
            replica
            for replica in artifact.replicas
            if replica.state is ReplicaState.LIVE and replica.root.filesystem_uuid == filesystem_uuid
        ]
        superseded = world.has_verified_successor(artifact)
        run = world.repeatable_run(artifact)
        if not live or not (superseded or run) or world.is_kept(artifact):
            continue
        yield ReclaimCandidate(
            name=artifact.name,
            freed_bytes=sum(replica.allocated_bytes for replica in live),
            superseded=superseded,
            regenerate_cost=run.cost_gpu_hours if run else None,
            created_at=artifact.created_at,
            available_at=free_from,
            freed_files=sum(replica.files for replica in live),
        )


class _World:
    """One look at the catalog, indexed for many questions."""

    def __init__(self, reading: Reading, *, now: datetime) -> None:
        self.artifacts: dict[int, Artifact] = {a.artifact_id: a for a in reading.artifacts()}
        self._by_name = {artifact.name: artifact for artifact in self.artifacts.values()}
        self._promised = {hold.artifact_id for hold in reading.holds()}
        self._promised |= {lease.artifact_id for lease in reading.leases(now)}
        self._children: dict[int, list[LineageEdge]] = {}
        for edge in reading.edges():
            self._children.setdefault(edge.parent_id, []).append(edge)
        self._runs: dict[int, Run] = {}
        self._unfinished: set[int] = set()
        for run in reading.runs():
            if run.state is RunState.RUNNING:
                self._unfinished.update((*run.inputs, *run.outputs))
            elif run.state is RunState.SUCCEEDED:
                self._runs.update(dict.fromkeys(run.outputs, run))

    def is_kept(self, artifact: Artifact) -> bool:
        """Whether a promise, unfinished work or a living child stands in the way."""
        return (
            not artifact.sealed
            or artifact.artifact_id in self._promised
            or artifact.artifact_id in self._unfinished
            or any(self._child_needs_it(edge) for edge in self._children.get(artifact.artifact_id, ()))
        )

    def has_verified_successor(self, artifact: Artifact) -> bool:
        """Whether what supersedes it is alive and was verified since its last change."""
        successor = self._by_name.get(artifact.superseded_by or "")
        return successor is not None and any(_is_verified(replica) for replica in successor.replicas)

    def repeatable_run(self, artifact: Artifact) -> Run | None:
        """Return the run that made it when its inputs are recorded and alive."""
        run = self._runs.get(artifact.artifact_id)
        inputs = [self.artifacts.get(key) for key in run.inputs] if run else []
        return run if inputs and all(parent is not None and parent.is_live for parent in inputs) else None

    def _child_needs_it(self, edge: LineageEdge) -> bool:
        child = self.artifacts[edge.child_id]
        if not child.is_live or edge.role is LineageRole.SUPERSEDES:
            return False
        if edge.role is LineageRole.RESUMED_FROM:
            return child.artifact_id in self._unfinished
        if edge.role.needs_parent:
            return True
        unverified = not any(_is_verified(replica) for replica in child.replicas)
        return unverified or not child.sealed or child.artifact_id in (self._promised | self._unfinished)


def _is_verified(replica: Replica) -> bool:
    return (
        replica.state is ReplicaState.LIVE
        and replica.verified_level is not None
        and replica.verified_fingerprint == replica.fingerprint
    )
