"""What happened: events in a list, one by one, as lines for other programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from artifactctl.domain.audit import AuditEntry, AuditEvent, AuditVerification, JsonValue
from artifactctl.domain.text import display_path, encodable, printable
from artifactctl.domain.verdicts import Verdict
from artifactctl.report.evidence import SYMBOLS
from artifactctl.report.instants import format_instant
from artifactctl.report.json_values import dump_value, json_path, rfc3339
from artifactctl.report.sizes import counted, format_bytes
from artifactctl.report.tables import Table, columns, key_values

FIELDS = (
    "id",
    "at",
    "actor",
    "host",
    "action",
    "artifact",
    "path",
    "bytes",
    "reason",
    "operation",
    "policy_digest",
    "hash",
    "previous_hash",
)


def event_payload(event: AuditEvent) -> dict[str, Any]:
    """Return one event of `audit ls --json`; what does not apply is null."""
    entry = event.entry
    return {
        "id": event.event_id,
        "at": rfc3339(entry.at),
        "actor": entry.actor,
        "host": entry.host,
        "action": entry.action,
        "artifact": entry.artifact or None,
        **json_path(entry.path),
        "bytes": entry.bytes,
        "reason": entry.reason or None,
        "operation": entry.operation or None,
        "policy_digest": entry.policy_digest or None,
        "hash": event.hash,
        "previous_hash": event.previous_hash,
    }


def event_with_evidence(event: AuditEvent) -> dict[str, Any]:
    """Return `audit show --json`: the event with its evidence."""
    return {**event_payload(event), "evidence": event.entry.evidence}


def event_table(events: Sequence[AuditEvent]) -> Table:
    """Return `audit ls` for a person; where it happened is told when that is not where it was asked for."""
    tells_where = any(_is_elsewhere(event.entry) for event in events)
    return Table(
        columns=columns(
            ">id", "when", "who", *(("where",) if tells_where else ()), "what", "artifact", ">bytes", "reason"
        ),
        rows=tuple(
            (
                str(event.event_id),
                format_instant(event.entry.at),
                printable(event.entry.actor),
                *((printable(event.entry.host),) if tells_where else ()),
                event.entry.action,
                printable(event.entry.artifact),
                "" if event.entry.bytes is None else format_bytes(event.entry.bytes),
                printable(event.entry.reason),
            )
            for event in events
        ),
        empty="no such events",
    )


def _is_elsewhere(entry: AuditEntry) -> bool:
    return bool(entry.host) and entry.actor.rpartition("@")[2] != entry.host


def event_text(event: AuditEvent) -> str:
    """Return `audit show` for a person, evidence included."""
    entry = event.entry
    return key_values(
        (
            ("event", str(event.event_id)),
            ("when", format_instant(entry.at)),
            ("who", printable(entry.actor)),
            ("where", printable(entry.host)),
            ("what", entry.action),
            ("artifact", printable(entry.artifact)),
            ("path", "" if entry.path is None else display_path(entry.path)),
            ("bytes", "" if entry.bytes is None else f"{entry.bytes:,} ({format_bytes(entry.bytes)})"),
            ("reason", printable(entry.reason)),
            ("operation", entry.operation),
            ("policy", entry.policy_digest),
            *(("evidence" if not index else " ", line) for index, line in enumerate(_evidence(entry.evidence))),
            ("hash", event.hash),
            ("previous", event.previous_hash),
        )
    )


def events_csv(events: Iterable[AuditEvent]) -> str:
    """Return the events as CSV with a header; undecodable bytes as backslash escapes."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for event in events:
        writer.writerow({key: _cell(value) for key, value in event_payload(event).items()})
    return text.getvalue().rstrip("\n")


def verification_payload(verification: AuditVerification) -> dict[str, Any]:
    """Return `audit verify --json`."""
    return {
        "ok": verification.ok,
        "events": verification.events,
        "head": verification.head,
        "problem": verification.problem or None,
    }


def verification_text(verification: AuditVerification) -> str:
    """Return `audit verify` for a person: the head is what to keep elsewhere."""
    events = counted(verification.events, "event")
    if verification.ok:
        return f"the audit log is whole: {events}, head {verification.head}"
    return f"the audit log is not whole: {verification.problem} (before that: {events}, sound)"


def _evidence(evidence: JsonValue) -> list[str]:
    if _is_of_guards(evidence):
        return [_of_guard(item) for item in evidence]
    if isinstance(evidence, Mapping):
        return [f"{printable(str(key))}: {printable(_short(value))}" for key, value in evidence.items()]
    if isinstance(evidence, Sequence) and not isinstance(evidence, str):
        return [printable(_short(item)) for item in evidence]
    return [] if evidence is None else [printable(_short(evidence))]


def _is_of_guards(evidence: JsonValue) -> TypeGuard[Sequence[Mapping[str, JsonValue]]]:
    """Whether the evidence is what `evidence_payload` wrote."""
    if not isinstance(evidence, Sequence) or isinstance(evidence, str):
        return False
    return all(isinstance(item, Mapping) and {"guard", "verdict", "reason"} <= set(item) for item in evidence)


def _of_guard(item: Mapping[str, JsonValue]) -> str:
    waived = " (waived)" if item.get("waived") else ""
    symbol = SYMBOLS[Verdict(str(item["verdict"]))]
    return f"{symbol} {printable(str(item['guard']))}: {printable(str(item['reason']))}{waived}"


def _short(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump_value(value)


def _cell(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value
