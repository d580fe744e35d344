"""What is in quarantine, and whether it could be purged."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from artifactctl.domain.text import display_path, printable
from artifactctl.domain.verdicts import Evidence, may_remove
from artifactctl.report.evidence import evidence_payload, refusal_lines
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes
from artifactctl.report.tables import Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineEntry:
    """One thing in quarantine as people see it. `grace_until` is None where it never expires."""

    operation: str
    name: str
    kind: str
    host: str
    original: bytes
    allocated_bytes: int
    freed_bytes: int
    since: datetime
    grace_until: datetime | None
    reason: str
    actor: str


def quarantine_table(entries: Sequence[QuarantineEntry], *, now: datetime) -> Table:
    """Return the table of `quarantine ls`."""
    rows = [
        (
            printable(entry.name),
            format_bytes(entry.allocated_bytes),
            f"{entry.since:%Y-%m-%d %H:%M}",
            _until(entry, now),
            entry.operation,
            printable(entry.reason),
        )
        for entry in entries
    ]
    titles = columns("name", ">size", "since (UTC)", "kept until", "operation", "reason")
    return Table(columns=titles, rows=tuple(rows), empty="Nothing is in quarantine.")


def _until(entry: QuarantineEntry, now: datetime) -> str:
    if entry.grace_until is None:
        return "restored (in use)"
    return "expired" if now >= entry.grace_until else f"{entry.grace_until:%Y-%m-%d %H:%M}"


def quarantine_payload(entry: QuarantineEntry, *, now: datetime) -> dict[str, Any]:
    """Return one entry for scripts."""
    return {
        "operation": entry.operation,
        "name": entry.name,
        "kind": entry.kind,
        "host": entry.host,
        **json_path(entry.original),
        "allocated_bytes": entry.allocated_bytes,
        "freed_after_purge_bytes": entry.freed_bytes,
        "since": entry.since,
        "grace_until": entry.grace_until,
        "expired": entry.grace_until is not None and now >= entry.grace_until,
        "reason": entry.reason,
        "actor": entry.actor,
    }


def purge_preview(entry: QuarantineEntry, evidence: Sequence[Evidence]) -> list[str]:
    """Return the lines of `quarantine purge --dry-run` for one entry."""
    size = format_bytes(entry.allocated_bytes)
    if may_remove(evidence):
        freed = format_bytes(entry.freed_bytes)
        return [f"  - purge  {printable(entry.name)}  ({size}): frees {freed}", f"      {display_path(entry.original)}"]
    return [f"  ! keep   {printable(entry.name)}  ({size})", *refusal_lines(evidence, indent="      ")]


def purge_preview_payload(entry: QuarantineEntry, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Return the same for scripts."""
    return {
        "name": entry.name,
        "operation": entry.operation,
        **json_path(entry.original),
        "may_go": may_remove(evidence),
        "expected_freed_bytes": entry.freed_bytes,
        "evidence": evidence_payload(evidence),
    }
