"""Holds, leases and reservations: who was promised what, until when."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Hold, Lease, Reservation
from artifactctl.domain.text import display_path, printable
from artifactctl.report.instants import format_instant
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes
from artifactctl.report.tables import Table, columns


def hold_table(holds: Sequence[Hold], *, now: datetime) -> Table:
    """Return the holds in force; one whose review date has passed still holds and says so."""
    return Table(
        columns=columns("name", "reason", "by", "since", "review"),
        rows=tuple(
            (
                printable(hold.artifact_name),
                printable(hold.reason),
                printable(hold.actor),
                format_instant(hold.placed_at),
                _review(hold, now),
            )
            for hold in holds
        ),
        empty="nothing is on hold",
    )


def hold_payload(hold: Hold) -> dict[str, Any]:
    """Return one hold as JSON."""
    return {
        "id": hold.hold_id,
        "name": hold.artifact_name,
        "reason": hold.reason,
        "actor": hold.actor,
        "placed_at": hold.placed_at,
        "until": hold.until,
    }


def lease_table(leases: Sequence[Lease], *, now: datetime) -> Table:
    """Return the leases in force and those whose term has passed without an end."""
    return Table(
        columns=columns("name", "id", "host", ">pid", "command", "until"),
        rows=tuple(
            (
                printable(lease.artifact_name),
                lease.lease_id,
                printable(lease.host),
                "" if lease.pid is None else str(lease.pid),
                printable(lease.command),
                format_instant(lease.expires_at) + (" (expired)" if lease.expires_at <= now else ""),
            )
            for lease in leases
        ),
        empty="nothing is leased; `artifactctl lease run NAME -- COMMAND` takes a lease while the command runs",
    )


def lease_payload(lease: Lease) -> dict[str, Any]:
    """Return one lease as JSON."""
    return {
        "id": lease.lease_id,
        "name": lease.artifact_name,
        "owner": lease.owner,
        "host": lease.host,
        "pid": lease.pid,
        "command": lease.command,
        "granted_at": lease.granted_at,
        "expires_at": lease.expires_at,
        "fence": lease.fence,
    }


def reservation_table(reservations: Sequence[Reservation], *, now: datetime) -> Table:
    """Return the bytes promised and not yet written."""
    return Table(
        columns=columns("id", "path", ">reserved", ">written", "for", "by", "until"),
        rows=tuple(
            (
                reservation.reservation_id,
                display_path(reservation.path),
                format_bytes(reservation.reserved_bytes),
                format_bytes(reservation.filled_bytes),
                printable(reservation.purpose),
                printable(reservation.actor),
                format_instant(reservation.expires_at) + (" (expired)" if reservation.expires_at <= now else ""),
            )
            for reservation in reservations
        ),
        empty="nothing is reserved",
    )


def reservation_payload(reservation: Reservation, host_names: Mapping[int, str]) -> dict[str, Any]:
    """Return one reservation as JSON."""
    return {
        "id": reservation.reservation_id,
        "host": host_names.get(reservation.host_id),
        "filesystem_uuid": reservation.filesystem_uuid,
        **json_path(reservation.path),
        "reserved_bytes": reservation.reserved_bytes,
        "filled_bytes": reservation.filled_bytes,
        "purpose": reservation.purpose,
        "actor": reservation.actor,
        "made_at": reservation.made_at,
        "expires_at": reservation.expires_at,
    }


def _review(hold: Hold, now: datetime) -> str:
    if hold.until is None:
        return ""
    return format_instant(hold.until) + (" (review due; still held)" if hold.review_is_due(now) else "")
