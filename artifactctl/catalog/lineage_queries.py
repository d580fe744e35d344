"""Questions about what came from what."""

from sqlalchemy import Column, ColumnElement, Connection, select

from artifactctl.catalog.mapping import to_edge
from artifactctl.catalog.schema_artifacts import lineage_edge
from artifactctl.domain.artifacts import LineageEdge

_child = lineage_edge.c.child_id
_parent = lineage_edge.c.parent_id


def parents(connection: Connection, artifact_id: int) -> tuple[LineageEdge, ...]:
    """Return the edges up from one artifact."""
    return _edges(connection, _child == artifact_id)


def children(connection: Connection, artifact_id: int) -> tuple[LineageEdge, ...]:
    """Return the edges down from one artifact."""
    return _edges(connection, _parent == artifact_id)


def edges(connection: Connection) -> tuple[LineageEdge, ...]:
    """Return every edge."""
    return _edges(connection, None)


def ancestors(connection: Connection, artifact_id: int) -> tuple[int, ...]:
    """Return everything above one artifact."""
    return _reachable(connection, artifact_id, start=_child, end=_parent)


def descendants(connection: Connection, artifact_id: int) -> tuple[int, ...]:
    """Return everything below one artifact."""
    return _reachable(connection, artifact_id, start=_parent, end=_child)


def _edges(connection: Connection, condition: ColumnElement[bool] | None) -> tuple[LineageEdge, ...]:
    statement = select(lineage_edge).order_by(_child, _parent, lineage_edge.c.role)
    if condition is not None:
        statement = statement.where(condition)
    return tuple(to_edge(row) for row in connection.execute(statement))


def _reachable(connection: Connection, artifact_id: int, *, start: Column[int], end: Column[int]) -> tuple[int, ...]:
    """Follow edges from `start` to `end`; UNION drops what was reached before, so even a cycle would end."""
    reached = select(end.label("id")).where(start == artifact_id).cte("reached", recursive=True)
    reached = reached.union(select(end).join(reached, start == reached.c.id))
    return tuple(connection.execute(select(reached.c.id).order_by(reached.c.id)).scalars())
