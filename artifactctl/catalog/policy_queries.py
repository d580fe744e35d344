"""What a policy needs to know of many artifacts, one statement for each kind of fact.

Asked are artifacts that have bytes below a managed root: a copy that is neither gone nor archived.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge, measurement, replica
from artifactctl.catalog.schema_work import hold, lease, run, run_input, run_output
from artifactctl.domain.artifacts import ReplicaState, RunState
from artifactctl.policy.scope import Wanted

_WITHOUT_BYTES = (ReplicaState.GONE, ReplicaState.ARCHIVED)
_ROWS_AT_ONCE = 20_000

_successor = artifact.alias("successor")
_child = artifact.alias("child")
_parent = artifact.alias("parent")
_made_from = lineage_edge.alias("made_from")

_live = replica.c.state == ReplicaState.LIVE.value
_passed = and_(
    replica.c.verified_level.is_not(None),
    replica.c.verified_fingerprint != "",
    replica.c.verified_fingerprint == replica.c.fingerprint,
)
"""As the catalog recorded it: a copy that passed `verify` with the fingerprint that it has."""

_verified = and_(_live, _passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which artifacts are asked about: `condition` on a row of `artifact`, None where every one of them is.

    `is_broad`: so many may be that going through all of a table is the shorter way.
    """

    condition: ColumnElement[bool] | None
    is_broad: bool

    def of(self, statement: Select[Any], artifact_id: ColumnElement[int]) -> Select[Any]:
        """Return the statement, asked only of rows that are about a chosen artifact."""
        if self.condition is None:
            return statement
        chosen = select(artifact.c.id).where(self.condition)
        if self.is_broad:
            return statement.where(chosen.where(artifact.c.id == artifact_id).correlate_except(artifact).exists())
        return statement.where(artifact_id.in_(chosen))


def _as_stored(column: Column[Any]) -> ColumnElement[str]:
    """Return the text of a column without a change for every row."""
    return type_coerce(column, Text)


def selection_of(*scopes: Sequence[Wanted], also: Sequence[int]) -> Selection | None:
    """Return the choice of what is in every one of the scopes, or numbered in `also`; None: that is nothing."""
    if not also and not all(scopes):
        return None
    narrowing = [scope for scope in scopes if Wanted() not in scope]
    if not narrowing:
        return Selection(condition=None, is_broad=True)
    in_each = and_(*(or_(false(), *map(_condition, scope)) for scope in narrowing))
    is_broad = all(any(wanted.is_broad for wanted in scope) for scope in narrowing)
    return Selection(condition=or_(artifact.c.id.in_(also), in_each), is_broad=is_broad)


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
        conditions.append(artifact.c.id.in_(select(_made_from.c.child_id)))
    if wanted.created_after is not None:
        conditions.append(artifact.c.created_at > wanted.created_after)
    if wanted.created_until is not None:
        conditions.append(artifact.c.created_at <= wanted.created_until)
    return and_(*conditions)


def copies(connection: Connection, selection: Selection) -> Iterator[AnyRow]:
    """Yield each copy that takes bytes, beside its artifact's own columns; those of one artifact follow one another."""
    statement = (
        select(
            artifact.c.id,
            replica.c.root_id,
            replica.c.state,
            replica.c.allocated_bytes,
            replica.c.relative,
            _passed,
            _as_stored(artifact.c.name),
            artifact.c.kind,
            type_coerce(artifact.c.created_at, BigInteger),
            artifact.c.sealed,
            _as_stored(artifact.c.labels),
            _as_stored(artifact.c.details),
        )
        .join(replica, replica.c.artifact_id == artifact.c.id)
        .where(replica.c.state.not_in([state.value for state in _WITHOUT_BYTES]))
        .order_by(artifact.c.id, replica.c.id)
    )
    return _rows(connection, statement if selection.condition is None else statement.where(selection.condition))


def successors(connection: Connection, selection: Selection) -> Iterator[AnyRow]:
    """Yield (artifact_id, name, kind, verified) of what took an artifact's place."""
    verified = exists().where(replica.c.artifact_id == artifact.c.superseded_by_id, _verified)
    statement = select(artifact.c.id, _as_stored(_successor.c.name), _successor.c.kind, verified).join(
        _successor, _successor.c.id == artifact.c.superseded_by_id
    )
    return _rows(connection, statement if selection.condition is None else statement.where(selection.condition))


def metric_names(connection: Connection) -> Sequence[str]:
    """Return every metric that was ever measured."""
    return connection.execute(select(measurement.c.metric).distinct()).scalars().all()


def measurements(connection: Connection, selection: Selection, metric: str) -> Iterator[AnyRow]:
    """Yield (artifact_id, value) of one metric, as it was measured in time; of one instant, as it was recorded."""
    statement = (
        select(measurement.c.artifact_id, measurement.c.value)
        .where(measurement.c.metric == metric)
        .order_by(measurement.c.measured_at, measurement.c.id)
    )
    return _rows(connection, selection.of(statement, measurement.c.artifact_id))


def children(connection: Connection, selection: Selection) -> Iterator[AnyRow]:
    """Yield (parent_id, name, kind, role, verified) of what was made from an artifact; verified NULL: not living.

    Of many children that differ in their names alone, the first by name stands for all.
    """
    standing = (
        select(func.max(case((_verified, 1), else_=0)))
        .where(replica.c.artifact_id == lineage_edge.c.child_id, _live)
        .scalar_subquery()
    )
    each = select(
        lineage_edge.c.parent_id,
        _as_stored(_child.c.name).label("name"),
        _child.c.kind,
        lineage_edge.c.role,
        standing.label("verified"),
    ).join(_child, _child.c.id == lineage_edge.c.child_id)
    each = each.where(lineage_edge.c.parent_id != lineage_edge.c.child_id)
    found = selection.of(each, lineage_edge.c.parent_id).subquery()
    alike = (found.c.parent_id, found.c.kind, found.c.role, found.c.verified)
    first = func.min(_in_byte_order(connection, found.c.name))
    return _rows(
        connection,
        select(found.c.parent_id, first, found.c.kind, found.c.role, found.c.verified).group_by(*alike),
    )


def parents(connection: Connection, selection: Selection) -> Iterator[AnyRow]:
    """Yield (child_id, kind, role, living) of everything that an artifact was made from."""
    living = exists().where(replica.c.artifact_id == lineage_edge.c.parent_id, _live)
    statement = select(lineage_edge.c.child_id, _parent.c.kind, lineage_edge.c.role, living.label("living")).join(
        _parent, _parent.c.id == lineage_edge.c.parent_id
    )
    return _rows(connection, selection.of(statement, lineage_edge.c.child_id))


def producers(connection: Connection, selection: Selection) -> Iterator[AnyRow]:
    """Yield (artifact_id, run_id) of every run that wrote an artifact, earlier runs first."""
    statement = select(run_output.c.artifact_id, run_output.c.run_id).order_by(run_output.c.run_id)
    return _rows(connection, selection.of(statement, run_output.c.artifact_id))


def run_states(connection: Connection) -> Iterator[AnyRow]:
    """Yield (run_id, state) of every run."""
    return _rows(connection, select(run.c.id, run.c.state))


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


def _rows(connection: Connection, statement: Select[Any]) -> Iterator[AnyRow]:
    """Yield rows without holding all of them in memory."""
    for rows in connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}).partitions():
        yield from rows


def _in_byte_order(connection: Connection, column: ColumnElement[str]) -> ColumnElement[str]:
    """Return the column, compared like Python's text; a server would compare as its locale does."""
    return column.collate("C") if connection.dialect.name == "postgresql" else column


def _ids(connection: Connection, statement: Select[Any]) -> frozenset[int]:
    return frozenset(connection.execute(statement.distinct()).scalars())
