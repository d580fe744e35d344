"""Instants as people read them, always in UTC."""

from datetime import UTC, datetime


def format_instant(at: datetime | None) -> str:
    """Return `2026-11-30 14:05 UTC`; nothing for no instant."""
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def format_date(at: datetime | None) -> str:
    """Return `2026-11-30`; nothing for no instant."""
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d}"
