"""Appending to the chain and asking it questions."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, Select, func, insert, or_, select, update

from artifactctl.audit import chain
from artifactctl.audit.schema import audit_event, audit_head
from artifactctl.domain.audit import AuditAction, AuditEntry, AuditEvent, AuditHead
from artifactctl.domain.text import storable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS_AT_A_TIME = 1_000

AnyRow: TypeAlias = Row[*tuple[Any, ...]]


def append(connection: Connection, entry: AuditEntry) -> AuditEvent:
    """Add an event within the caller's write transaction: it stands if and only if what it tells of stands.

    TypeError for an action that is not of the vocabulary.
    """
    if not isinstance(entry.action, AuditAction):
        raise TypeError(f"{entry.action!r} is no AuditAction")
    head = connection.execute(select(audit_head).with_for_update()).one()
    event_id = head.event_id + 1
    body = chain.compose(entry, event_id=event_id, previous_hash=head.hash)
    recorded_hash = chain.digest(body)
    connection.execute(insert(audit_event).values(body=body, hash=recorded_hash, **index_of(entry, event_id)))
    connection.execute(update(audit_head).values(event_id=event_id, hash=recorded_hash, events=head.events + 1))
    return chain.parse(body, recorded_hash)


def events(
    connection: Connection,
    *,
    artifact: str | None = None,
    actor: str | None = None,
    action: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    path: bytes | None = None,
    operation: str | None = None,
) -> Iterator[AuditEvent]:
    """Yield events that meet every condition, oldest first; `since` counts in, `until` does not.

    `path`: the event concerns exactly this absolute path, or something below it.
    `action`: one act, or with no dot in it every act of that kind.
    """
    statement = select(audit_event.c.body, audit_event.c.hash).order_by(audit_event.c.id)
    if action is not None:
        exactly = audit_event.c.action == storable(action)
        of_the_kind = audit_event.c.action.startswith(f"{storable(action)}.", autoescape=True)
        statement = statement.where(exactly if "." in action else or_(exactly, of_the_kind))
    for column, wanted in (("artifact", artifact), ("actor", actor), ("operation", operation)):
        if wanted is not None:
            statement = statement.where(audit_event.c[column] == storable(wanted))
    if since is not None:
        statement = statement.where(audit_event.c.at_microseconds >= microseconds(since))
    if until is not None:
        statement = statement.where(audit_event.c.at_microseconds < microseconds(until))
    if path is not None:
        statement = statement.where(_at_or_below(path))
    for row in stream(connection, statement):
        yield chain.parse(row.body, row.hash)


def event(connection: Connection, event_id: int) -> AuditEvent | None:
    """Return one event by its number."""
    statement = select(audit_event.c.body, audit_event.c.hash).where(audit_event.c.id == event_id)
    row = connection.execute(statement).one_or_none()
    return None if row is None else chain.parse(row.body, row.hash)


def head(connection: Connection) -> AuditHead:
    """Return what the chain says of its end, unproven; `verify` proves it."""
    row = connection.execute(select(audit_head)).one()
    return AuditHead(events=row.events, hash=row.hash)


def newest(connection: Connection, count: int) -> tuple[AuditEvent, ...]:
    """Return the last `count` events, newest first."""
    statement = select(audit_event.c.body, audit_event.c.hash).order_by(audit_event.c.id.desc()).limit(count)
    return tuple(chain.parse(row.body, row.hash) for row in connection.execute(statement))


def last_of_each_action(connection: Connection) -> dict[str, datetime]:
    """Return when each kind of act was last recorded, by its name."""
    last = func.max(audit_event.c.at_microseconds)
    statement = select(audit_event.c.action, last).group_by(audit_event.c.action).order_by(audit_event.c.action)
    return {action: _EPOCH + timedelta(microseconds=at) for action, at in connection.execute(statement)}


def export_lines(connection: Connection) -> Iterator[str]:
    """Yield each event as one line of JSON without the line end, its hash as the last member.

    Without `,"hash":"…"` the line is exactly the text that was hashed.
    """
    for row in stream(connection, select(audit_event.c.body, audit_event.c.hash).order_by(audit_event.c.id)):
        yield f'{row.body[:-1]},"hash":"{row.hash}"}}'


def stream(connection: Connection, statement: Select[Any]) -> Iterator[AnyRow]:
    """Yield rows without holding more than some thousand of them."""
    with connection.execute(statement, execution_options={"yield_per": _ROWS_AT_A_TIME}) as result:
        yield from result


def index_of(entry: AuditEntry, event_id: int) -> dict[str, Any]:
    """Return the columns an event is found by."""
    return {
        "id": event_id,
        "at_microseconds": microseconds(entry.at),
        "actor": storable(entry.actor),
        "action": storable(entry.action),
        "artifact": storable(entry.artifact),
        "path": entry.path,
        "operation": storable(entry.operation),
    }


def microseconds(instant: datetime) -> int:
    """Return whole microseconds since 1970."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


def _at_or_below(path: bytes) -> Any:
    inside = path.rstrip(b"/") + b"/"
    column = audit_event.c.path
    return (column == path) | ((column >= inside) & (column < inside[:-1] + b"0"))
