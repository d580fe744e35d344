"""The report: everything about the stock at one instant, as text and as JSON. `page` has it as HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.audit import AuditEvent
from artifactctl.domain.text import printable
from artifactctl.report.audit_events import event_payload, event_table
from artifactctl.report.disk_usage import Share
from artifactctl.report.instants import format_instant
from artifactctl.report.lineage import Family, lineage_payload
from artifactctl.report.overview import Overview
from artifactctl.report.promises import (
    hold_payload,
    hold_table,
    lease_payload,
    lease_table,
    reservation_table,
)
from artifactctl.report.prospects import Prospect, largest_first, prospect_payload, prospect_table
from artifactctl.report.quarantine import quarantine_payload, quarantine_table
from artifactctl.report.sizes import counted, format_bytes
from artifactctl.report.tables import Document, Table, columns, key_values
from artifactctl.report.volumes import volume_payload, volume_table

SUMMARY_PROSPECTS = 10
SUMMARY_EVENTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StockReport:
    """The stock on the machines that `hostname` names. `families` are those of the largest artifacts, `events` the
    newest first.
    """

    hostname: str
    version: str
    overview: Overview
    prospects: tuple[Prospect, ...]
    families: tuple[Family, ...]
    events: tuple[AuditEvent, ...]

    @property
    def heading(self) -> str:
        """Which machines, when, and which of them said nothing."""
        silent = ", ".join(printable(name) for name, _ in self.overview.unreachable)
        without = f", without {silent}, which cannot be reached" if silent else ""
        return f"{printable(self.hostname)}, {format_instant(self.overview.taken_at)}{without}"


def headline_figures(report: StockReport) -> tuple[tuple[str, str, str], ...]:
    """Return (what, how much, of how many) of the few figures that matter most."""
    overview = report.overview
    free = [item for item in report.prospects if item.may_go]
    catalogued = [share for share in overview.shares if share.state not in ("quarantined", "purging")]
    return (
        ("catalogued", _bytes(catalogued), counted(sum(share.artifacts for share in catalogued), "artifact")),
        (
            "in quarantine",
            format_bytes(sum(entry.allocated_bytes for entry in overview.quarantined)),
            f"{counted(len(overview.quarantined), 'artifact')}, {len(overview.expired):,} past its grace",
        ),
        ("could go now", format_bytes(sum(item.freed_bytes for item in free)), counted(len(free), "artifact")),
        (
            "kept on purpose",
            counted(len(overview.holds), "hold"),
            f"{counted(len(overview.leases), 'lease')}, {counted(len(overview.reservations), 'reservation')}",
        ),
    )


def stock_table(shares: Sequence[Share]) -> Table:
    """Return the catalogued bytes by kind, state and root."""
    return Table(
        columns=columns("kind", "state", "root", ">artifacts", ">on disk"),
        rows=tuple(
            (s.kind, s.state, printable(s.root), f"{s.artifacts:,}", format_bytes(s.allocated_bytes)) for s in shares
        ),
        empty="nothing is catalogued",
    )


def stock_report_text(report: StockReport) -> Document:
    """Return the summary for a terminal."""
    overview = report.overview
    shown = largest_first(report.prospects)
    document: list[str | Table] = [
        report.heading,
        "",
        key_values((what, f"{amount} ({more})") for what, amount, more in headline_figures(report)),
        "",
        volume_table(overview.volumes),
        "",
        stock_table(overview.shares),
        "",
        prospect_table(shown[:SUMMARY_PROSPECTS]),
    ]
    if len(shown) > SUMMARY_PROSPECTS:
        document.append(f"and {len(shown) - SUMMARY_PROSPECTS:,} more; `artifactctl report --out FILE.html` shows all")
    document += ["", quarantine_table(overview.quarantined, now=overview.taken_at)]
    if overview.holds:
        document += ["", hold_table(overview.holds, now=overview.taken_at)]
    if overview.leases:
        document += ["", lease_table(overview.leases, now=overview.taken_at)]
    if overview.reservations:
        document += ["", reservation_table(overview.reservations, now=overview.taken_at)]
    return [*document, "", event_table(report.events[:SUMMARY_EVENTS])]


def stock_report_payload(report: StockReport) -> dict[str, Any]:
    """Return `report --json`."""
    overview = report.overview
    return {
        "host": report.hostname,
        "taken_at": overview.taken_at,
        "unreachable": [{"host": name, "problem": problem} for name, problem in overview.unreachable],
        "shares": [
            {
                "kind": share.kind,
                "state": share.state,
                "root": share.root,
                "artifacts": share.artifacts,
                "allocated_bytes": share.allocated_bytes,
            }
            for share in overview.shares
        ],
        "volumes": [volume_payload(account) for account in overview.volumes],
        "prospects": [prospect_payload(item) for item in largest_first(report.prospects)],
        "quarantined": [quarantine_payload(entry, now=overview.taken_at) for entry in overview.quarantined],
        "holds": [hold_payload(hold) for hold in overview.holds],
        "leases": [lease_payload(lease) for lease in overview.leases],
        "audit": {"events": overview.audit.events, "head": overview.audit.hash},
        "events": [event_payload(event) for event in report.events],
        "lineage": [lineage_payload(family) for family in report.families],
    }


def _bytes(shares: Sequence[Share]) -> str:
    return format_bytes(sum(share.allocated_bytes for share in shares))
