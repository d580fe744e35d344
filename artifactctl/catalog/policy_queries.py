"""What a policy needs to know of many artifacts, one statement for each kind of fact.

Asked are artifacts that have bytes below a managed root: a copy that is neither gone nor archived.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    case,
    exists,
    false,
    func,
    or_,
    select,
    type_coerce,
)

from artifactctl.catalog.mapping import AnyRow
from artifactctl.catalog.schema import root
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge, measurement, replica
from artifactctl.catalog.schema_work import hold, lease, run, run_input, run_output
from artifactctl.domain.artifacts import ReplicaState, RunState
from artifactctl.policy.scope import Wanted

_MOVING = (
    ReplicaState.BUILDING,
    ReplicaState.QUARANTINING,
    ReplicaState.PURGING,
    ReplicaState.RESTORING,
    ReplicaState.ARCHIVING,
)
_WITHOUT_BYTES = (ReplicaState.GONE, ReplicaState.ARCHIVED)
_ROWS_AT_ONCE = 20_000

Condition = ColumnElement[bool] | None
"""On a row of `artifact`; None where every artifact is meant."""

_first = replica.alias("first")
_successor = artifact.alias("successor")
_child = artifact.alias("child")
_parent = artifact.alias("parent")


_live = replica.c.state == ReplicaState.LIVE.value
_verified = and_(
    _live,
    replica.c.verified_level.is_not(None),
    replica.c.verified_fingerprint != "",
    replica.c.verified_fingerprint == replica.c.fingerprint,
)
"""As the catalog recorded it: a live copy that passed `verify` with the fingerprint that it has."""


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count(case((condition, 1)))


_totals_of_each = (
    select(
        replica.c.artifact_id,
        func.min(case((_live, replica.c.id))).label("first_id"),
        _count(_live).label("copies"),
        _count(_verified).label("verified_copies"),
        _count(replica.c.state.in_([state.value for state in _MOVING])).label("moving_copies"),
        _count(replica.c.state == ReplicaState.BUILDING.value).label("copies_being_built"),
        func.sum(case((_live, replica.c.allocated_bytes), else_=0)).label("allocated_bytes"),
    )
    .where(
        replica.c.state.not_in([state.value for state in _WITHOUT_BYTES]),
        replica.c.root_id.in_(select(root.c.id).where(root.c.forgotten_at.is_(None))),
    )
    .group_by(replica.c.artifact_id)
)
_standing_of_each = (
    select(replica.c.artifact_id, func.max(case((_verified, 1), else_=0)).label("verified"))
    .where(_live)
    .group_by(replica.c.artifact_id)
)


def _as_stored(column: Column[Any]) -> ColumnElement[str]:
    """Return the text of a column without a change for every row."""
    return type_coerce(column, Text)


def condition_for(scope: Sequence[Wanted], also: Sequence[int]) -> ColumnElement[bool] | None:
    """Return the condition of being in the scope, or one of the artifacts in `also`; None: every artifact is."""
    if Wanted() in scope:
        return None
    return or_(artifact.c.id.in_(also), *map(_condition, scope))


def _condition(wanted: Wanted) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.kinds:
        conditions.append(artifact.c.kind.in_([kind.value for kind in wanted.kinds]))
    if wanted.names or wanted.prefixes:
        begins = [artifact.c.name.startswith(prefix, autoescape=True) for prefix in wanted.prefixes]
        conditions.append(or_(artifact.c.name.in_(wanted.names), *begins))
    if wanted.superseded:
        conditions.append(artifact.c.superseded_by_id.is_not(None))
    if wanted.has_inputs:
        conditions.append(artifact.c.id.in_(select(lineage_edge.c.child_id)))
    if wanted.created_after is not None:
        conditions.append(artifact.c.created_at > wanted.created_after)
    if wanted.created_until is not None:
        conditions.append(artifact.c.created_at <= wanted.created_until)
    return and_(*conditions)


def artifacts(connection: Connection, condition: Condition) -> Iterator[AnyRow]:
    """Yield each artifact's own columns, the sums over its copies, the place of its first live one, its successor."""
    totals = _of_chosen(_totals_of_each, replica.c.artifact_id, condition).subquery("totals")
    statement = select(
        artifact.c.id,
        _as_stored(artifact.c.name),
        artifact.c.kind,
        artifact.c.created_at,
        artifact.c.sealed,
        _as_stored(artifact.c.labels),
        _as_stored(artifact.c.details),
        totals.c.copies,
        totals.c.verified_copies,
        totals.c.moving_copies,
        totals.c.copies_being_built,
        totals.c.allocated_bytes,
        _first.c.root_id,
        _first.c.relative,
        _successor.c.name,
        _successor.c.kind,
        case(
            (artifact.c.superseded_by_id.is_(None), false()),
            else_=exists().where(replica.c.artifact_id == artifact.c.superseded_by_id, _verified),
        ),
    ).select_from(
        artifact.join(totals, totals.c.artifact_id == artifact.c.id)
        .outerjoin(_first, _first.c.id == totals.c.first_id)
        .outerjoin(_successor, _successor.c.id == artifact.c.superseded_by_id)
    )
    return _rows(connection, statement)


def measurements(connection: Connection, condition: Condition) -> Iterator[AnyRow]:
    """Yield (artifact_id, metric, value, measured_at) in the order in which they were recorded."""
    measured_at = type_coerce(measurement.c.measured_at, BigInteger)
    columns = (measurement.c.artifact_id, _as_stored(measurement.c.metric), measurement.c.value, measured_at)
    return _rows(
        connection, _of_chosen(select(*columns), measurement.c.artifact_id, condition).order_by(measurement.c.id)
    )


def children(connection: Connection, condition: Condition) -> Iterator[AnyRow]:
    """Yield (parent_id, name, kind, role, verified) of everything made from an artifact; verified NULL: not living."""
    of_chosen = _of_chosen(select(lineage_edge.c.child_id), lineage_edge.c.parent_id, condition)
    living = _standing_of_each if condition is None else _standing_of_each.where(replica.c.artifact_id.in_(of_chosen))
    standing = living.subquery("standing")
    statement = (
        select(
            lineage_edge.c.parent_id,
            _as_stored(_child.c.name),
            _child.c.kind,
            lineage_edge.c.role,
            standing.c.verified,
        )
        .join(_child, _child.c.id == lineage_edge.c.child_id)
        .outerjoin(standing, standing.c.artifact_id == lineage_edge.c.child_id)
        .where(lineage_edge.c.parent_id != lineage_edge.c.child_id)
    )
    return _rows(connection, _of_chosen(statement, lineage_edge.c.parent_id, condition))


def parents(connection: Connection, condition: Condition) -> Iterator[AnyRow]:
    """Yield (child_id, kind, role, living) of everything that an artifact was made from."""
    living = exists().where(replica.c.artifact_id == lineage_edge.c.parent_id, _live)
    statement = select(lineage_edge.c.child_id, _parent.c.kind, lineage_edge.c.role, living.label("living")).join(
        _parent, _parent.c.id == lineage_edge.c.parent_id
    )
    return _rows(connection, _of_chosen(statement, lineage_edge.c.child_id, condition))


def producers(connection: Connection, condition: Condition) -> Iterator[AnyRow]:
    """Yield (artifact_id, run_id, state) of the last run that wrote each artifact."""
    last = select(run_output.c.artifact_id, func.max(run_output.c.run_id).label("run_id"))
    newest = _of_chosen(last, run_output.c.artifact_id, condition).group_by(run_output.c.artifact_id).subquery()
    return _rows(connection, select(newest.c.artifact_id, run.c.id, run.c.state).join(run, run.c.id == newest.c.run_id))


def held(connection: Connection) -> frozenset[int]:
    """Return the artifacts with a hold that was not released."""
    return _ids(connection, select(hold.c.artifact_id).where(hold.c.released_at.is_(None)))


def leased(connection: Connection, now: datetime) -> frozenset[int]:
    """Return the artifacts with a lease that is neither released nor expired."""
    in_force = and_(lease.c.released_at.is_(None), lease.c.expires_at > now)
    return _ids(connection, select(lease.c.artifact_id).where(in_force))


def inputs_of_unfinished_runs(connection: Connection) -> frozenset[int]:
    """Return the artifacts that a run which has not ended reads."""
    unfinished = run.c.state == RunState.RUNNING.value
    return _ids(connection, select(run_input.c.artifact_id).join(run).where(unfinished))


def _of_chosen(statement: Select[Any], artifact_id: ColumnElement[int], condition: Condition) -> Select[Any]:
    if condition is None:
        return statement
    return statement.where(artifact_id.in_(select(artifact.c.id).where(condition)))


def _rows(connection: Connection, statement: Select[Any]) -> Iterator[AnyRow]:
    """Yield rows without holding all of them in memory."""
    for rows in connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}).partitions():
        yield from rows


def _ids(connection: Connection, statement: Select[Any]) -> frozenset[int]:
    return frozenset(connection.execute(statement.distinct()).scalars())
