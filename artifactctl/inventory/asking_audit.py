"""Questions to the audit log by the words that a person uses."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.audit import AuditAction, AuditEvent
from artifactctl.domain.errors import UsageError
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.places import Here


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuestion:
    """Which events are wanted; None does not restrict.

    `artifact` is a name, former ones included, or a path.
    `action` is one act (`purge.done`) or every act of a kind (`purge`).
    """

    artifact: str | None = None
    actor: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    path: bytes | None = None


def matching_events(reading: Reading, question: AuditQuestion, *, here: Here) -> Iterator[AuditEvent]:
    """Yield the events, oldest first; an artifact or action that never existed is an error, not silence."""
    _require_known(reading, question.action)
    name = question.artifact
    if name is not None and not reading.artifacts_named_ever(name):
        name = find_artifact(reading, name, here=here).name
    return audit.events(
        reading.connection,
        artifact=name,
        actor=question.actor,
        action=question.action,
        since=question.since,
        until=question.until,
        path=question.path,
    )


def _require_known(reading: Reading, action: str | None) -> None:
    if action is None or action in _with_kinds(AuditAction):
        return
    told = _with_kinds(audit.last_of_each_action(reading.connection))  # a newer version may have written others
    if action not in told:
        raise UsageError(
            f"`{action}` is no action that the audit log tells of",
            remedy=did_you_mean(action, told | _with_kinds(AuditAction)),
        )


def _with_kinds(actions: Iterable[str]) -> set[str]:
    return {word for action in actions for word in (str(action), action.partition(".")[0])}


def one_event(reading: Reading, event_id: int) -> AuditEvent:
    """Return the event with this number; UnknownObject when there is none."""
    event = audit.event(reading.connection, event_id)
    if event is None:
        raise UnknownObject(f"there is no event {event_id}", remedy="`artifactctl audit ls` lists the events")
    return event
