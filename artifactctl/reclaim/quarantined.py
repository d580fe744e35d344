"""What lies in quarantine, as catalog and operations tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.ledger import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """One operation with the artifact and replica it concerns."""

    operation: Operation
    artifact: Artifact
    replica: Replica


def in_quarantine(reading: Reading) -> tuple[Quarantined, ...]:
    """Return everything that lies in quarantine, oldest first."""
    items = []
    for artifact in reading.artifacts(state=ReplicaState.QUARANTINED):
        for replica in artifact.replicas:
            if replica.state is ReplicaState.QUARANTINED:
                operation = latest_operation(reading, artifact.artifact_id, replica.replica_id)
                if operation is not None:
                    items.append(Quarantined(operation=operation, artifact=artifact, replica=replica))
    return tuple(sorted(items, key=lambda item: (item.operation.started_at, item.operation.operation_id)))


def latest_operation(reading: Reading, artifact_id: int, replica_id: int) -> Operation | None:
    """Return the newest operation of a replica."""
    mine = [op for op in reading.operations(artifact_id=artifact_id) if op.replica_id == replica_id]
    return max(mine, key=lambda op: (op.started_at, op.operation_id), default=None)


def quarantined(reading: Reading, operation_id: str) -> Quarantined:
    """Return the operation with its artifact and replica as they are now."""
    operation = reading.operation(operation_id)
    artifact = reading.artifact_by_id(operation.artifact_id) if operation is not None else None
    if operation is None or artifact is None:
        raise UsageError(
            f"there is no operation `{operation_id}`", remedy="`artifactctl quarantine ls` lists what is there"
        )
    replica = next(r for r in artifact.replicas if r.replica_id == operation.replica_id)
    if replica.state is not ReplicaState.QUARANTINED:
        raise Refused(f"{artifact.name} is not in quarantine: it is {replica.state.value}")
    return Quarantined(operation=operation, artifact=artifact, replica=replica)


def expired(reading: Reading, *, now: datetime, clock_trusted: bool) -> tuple[Quarantined, ...]:
    """Return what is past its grace; nothing while the clock cannot be trusted."""
    if not clock_trusted:
        return ()
    return tuple(item for item in in_quarantine(reading) if past_grace(item.operation.grace_until, now=now))


def past_grace(grace_until: datetime | None, *, now: datetime) -> bool:
    """Whether a grace period has ended; one that never ends (None) has not."""
    return grace_until is not None and now >= grace_until


def roots_of(items: Sequence[Quarantined]) -> tuple[Root, ...]:
    """Return the roots the items lie in, each once."""
    return tuple({item.replica.root.root_id: item.replica.root for item in items}.values())
