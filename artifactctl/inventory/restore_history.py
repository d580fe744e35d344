"""How long things lay in quarantine before somebody wanted them back."""

from datetime import datetime, timedelta

from artifactctl import audit
from artifactctl.catalog import Reading
from artifactctl.domain.audit import AuditAction

LOOKED_BACK = timedelta(days=90)


def slowest_restore(reading: Reading, *, now: datetime) -> timedelta | None:
    """Return the longest time from setting aside to putting back among the last 90 days' restores, None without any."""
    since = now - LOOKED_BACK
    restores = audit.events(reading.connection, action=AuditAction.RESTORE_DONE, since=since)
    restored = {event.entry.operation: event.entry.at for event in restores if event.entry.operation}
    if not restored:
        return None
    set_aside = (event.entry for event in audit.events(reading.connection, action=AuditAction.QUARANTINE_DONE))
    waits = [restored[entry.operation] - entry.at for entry in set_aside if entry.operation in restored]
    return max(waits, default=None)
