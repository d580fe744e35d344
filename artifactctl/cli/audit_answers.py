"""Printing events in whichever form was asked for."""

from collections.abc import Iterable

from artifactctl.cli.output import Output
from artifactctl.domain.audit import AuditEvent
from artifactctl.report.audit_events import event_payload, event_table, events_csv


def print_events(output: Output, events: Iterable[AuditEvent]) -> None:
    """Print the events as text, one JSON object, JSON lines or CSV; lines are written as they are read."""
    if output.format_name == "jsonl":
        output.json_lines(map(event_payload, events))
    elif output.format_name == "csv":
        output.data(events_csv(events))
    else:
        found = tuple(events)
        output.answer(
            "audit-ls",
            payload=lambda: {"events": [event_payload(event) for event in found]},
            text=lambda: [event_table(found)],
        )
