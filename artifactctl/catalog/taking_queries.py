"""How much removals took, for limits over a day and comparisons with earlier runs; and how much there is of a kind.

What was put back, or never moved, was not taken. Bytes are those allocated to the copy, as caps count them.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, distinct, func, or_, select

from artifactctl.catalog.schema import root
from artifactctl.catalog.schema_artifacts import artifact, replica
from artifactctl.catalog.schema_work import operation, plan_step_use
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.ledger import Taken
from artifactctl.domain.operations import JournalEvent

_NOT_TAKEN = (JournalEvent.RESTORED, JournalEvent.ABANDONED)
_PURGES = (JournalEvent.PURGE_INTENDED, JournalEvent.PURGING, JournalEvent.PURGED)

_took = operation.c.state.not_in([event.value for event in _NOT_TAKEN])
_bytes = func.coalesce(func.sum(replica.c.allocated_bytes), 0)


def taken_between(connection: Connection, since: datetime, until: datetime) -> Taken:
    """Return what was set aside or purged from `since` until just before `until`; what was both, once."""
    purged = and_(
        operation.c.state.in_([event.value for event in _PURGES]), _within(operation.c.updated_at, since, until)
    )
    statement = (
        select(_bytes, func.count())
        .select_from(operation.join(replica, replica.c.id == operation.c.replica_id))
        .where(_took, or_(_within(operation.c.started_at, since, until), purged))
    )
    size, count = connection.execute(statement).one()
    return Taken(bytes=int(size), artifacts=count)


def last_runs(connection: Connection, count: int, *, without: str) -> tuple[Taken, ...]:
    """Return what each of the last `count` plans that were carried out took, newest first; `without` is left out."""
    statement = (
        select(_bytes, func.count())
        .select_from(operation.join(replica, replica.c.id == operation.c.replica_id))
        .where(_took, operation.c.plan_digest != without, operation.c.plan_digest.in_(select(plan_step_use.c.digest)))
        .group_by(operation.c.plan_digest)
        .order_by(func.max(operation.c.started_at).desc(), operation.c.plan_digest)
        .limit(count)
    )
    return tuple(Taken(bytes=int(size), artifacts=number) for size, number in connection.execute(statement))


def live_by_kind(connection: Connection) -> Mapping[ArtifactKind, int]:
    """Return how many artifacts of each kind have a live copy in a managed root; kinds without any are left out."""
    statement = (
        select(artifact.c.kind, func.count(distinct(artifact.c.id)))
        .join(replica, replica.c.artifact_id == artifact.c.id)
        .where(
            replica.c.state == ReplicaState.LIVE.value,
            replica.c.root_id.in_(select(root.c.id).where(root.c.forgotten_at.is_(None))),
        )
        .group_by(artifact.c.kind)
    )
    return {ArtifactKind(kind): count for kind, count in connection.execute(statement)}


def _within(instant: ColumnElement[datetime], since: datetime, until: datetime) -> ColumnElement[bool]:
    return and_(instant >= since, instant < until)
