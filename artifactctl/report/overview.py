"""Everything the catalog keeps, at one instant: what `metrics` counts and `report` shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl.domain.artifacts import Hold, Lease, Reservation
from artifactctl.domain.audit import AuditHead, came_about
from artifactctl.report.disk_usage import Share
from artifactctl.report.quarantine import QuarantineEntry
from artifactctl.report.volumes import VolumeAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One look. `unreachable` are (name, problem) of machines of which nothing is known now. `shares` are catalogued
    bytes that still exist; `last_acts` is when each kind of act was last told.
    """

    taken_at: datetime
    shares: tuple[Share, ...]
    volumes: tuple[VolumeAccount, ...]
    quarantined: tuple[QuarantineEntry, ...]
    holds: tuple[Hold, ...]
    leases: tuple[Lease, ...]
    reservations: tuple[Reservation, ...]
    audit: AuditHead
    last_acts: Mapping[str, datetime]
    unreachable: tuple[tuple[str, str], ...] = ()

    @property
    def expired(self) -> tuple[QuarantineEntry, ...]:
        """What lies in quarantine beyond its grace."""
        return tuple(e for e in self.quarantined if e.grace_until is not None and self.taken_at >= e.grace_until)

    @property
    def oldest_quarantine_age(self) -> timedelta:
        """How long the oldest thing in quarantine has been there; zero when there is none, or it is in the future."""
        oldest = min((entry.since for entry in self.quarantined), default=self.taken_at)
        return max(self.taken_at - oldest, timedelta(0))

    @property
    def last_successes(self) -> Mapping[str, datetime]:
        """When each kind of act last came about, by name."""
        return {act: at for act, at in sorted(self.last_acts.items()) if came_about(act)}
