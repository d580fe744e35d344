"""Walking the whole chain: altered, dropped, reordered, inserted and cut-off events are found.

Whoever can write to the database and knows the format can rebuild the whole chain. Only a head kept elsewhere (in the
roots' marker folders, in a mail, on paper) shows that; `AuditVerification.head` is what to keep.
"""

from sqlalchemy import Connection, select

from artifactctl.audit import chain, log
from artifactctl.audit.schema import audit_event, audit_head
from artifactctl.domain.audit import AuditVerification


def verify(connection: Connection) -> AuditVerification:
    """Return whether the chain is whole, and if not, where it first is not."""
    previous_hash = ""
    count = 0
    for row in log.stream(connection, select(audit_event).order_by(audit_event.c.id)):
        problem = _problem_of(row, expected_id=count + 1, previous_hash=previous_hash)
        if problem:
            return AuditVerification(ok=False, events=count, head=previous_hash, problem=problem)
        count += 1
        previous_hash = row.hash
    problem = _problem_of_head(connection, count, previous_hash)
    return AuditVerification(ok=not problem, events=count, head=previous_hash, problem=problem)


def _problem_of(row: log.AnyRow, *, expected_id: int, previous_hash: str) -> str:
    if row.id != expected_id:
        return f"event {expected_id} is missing; the next one is {row.id}"
    if chain.digest(row.body) != row.hash:
        return f"event {row.id} was altered: its text does not have its hash"
    try:
        event = chain.parse(row.body, row.hash)
    except (ValueError, KeyError, TypeError) as error:
        return f"event {row.id} cannot be read: {error}"
    if event.event_id != row.id:
        return f"event {row.id} holds the text of event {event.event_id}"
    if event.previous_hash != previous_hash:
        return f"event {row.id} does not follow event {row.id - 1}: another hash was there when it was written"
    differing = [name for name, value in log.index_of(event.entry, row.id).items() if row._mapping[name] != value]
    if differing:
        return f"event {row.id} is filed wrongly: {', '.join(differing)} differ from its text"
    return ""


def _problem_of_head(connection: Connection, count: int, last_hash: str) -> str:
    head = connection.execute(select(audit_head)).one_or_none()
    if head is None:
        return "the head of the chain is missing"
    if (head.event_id, head.events, head.hash) != (count, count, last_hash):
        return f"the chain ends with event {count}, the head says {head.event_id}: events are missing at the end"
    return ""
