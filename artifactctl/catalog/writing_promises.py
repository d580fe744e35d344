"""Changes of leases, holds and reservations."""

from datetime import datetime

from artifactctl.catalog import (
    promise_changes,
)
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import (
    Hold,
    Lease,
    Reservation,
)


class PromiseWriting(Transaction):
    """Leases, holds, reservations."""

    def grant_lease(
        self,
        artifact_id: int,
        *,
        owner: str,
        host: str,
        expires_at: datetime,
        pid: int | None = None,
        pid_started: str = "",
        command: str = "",
    ) -> Lease:
        """Promise that the artifact stays; StateChanged when no copy of it is live or being built."""
        process = {"host": host, "pid": pid, "pid_started": pid_started, "command": command}
        return promise_changes.grant_lease(self, artifact_id, owner, expires_at, process)

    def renew_lease(self, lease_id: str, *, owner: str, expires_at: datetime) -> Lease:
        """Extend a lease that is still in force; LeaseLost otherwise."""
        return promise_changes.renew_lease(self, lease_id, owner, expires_at)

    def release_lease(self, lease_id: str, *, owner: str) -> None:
        """Give a lease back; giving back one that is over changes nothing. LeaseLost when it is somebody else's."""
        promise_changes.release_lease(self, lease_id, owner)

    def break_lease(self, lease_id: str, *, reason: str) -> None:
        """End somebody's lease. The caller has proven that its holder is gone."""
        promise_changes.break_lease(self, lease_id, reason)

    def place_hold(
        self,
        artifact_id: int,
        *,
        reason: str,
        until: datetime | None = None,
        placed_by: str = "",
        placed_at: datetime | None = None,
    ) -> Hold:
        """Keep the artifact until the hold is released; `placed_by` and `placed_at` are those of a hold found again."""
        return promise_changes.place_hold(
            self, artifact_id, reason, until, placed_by or self.actor, placed_at or self.now
        )

    def release_hold(self, hold_id: int, *, reason: str) -> None:
        """Release a hold; StateChanged when it was released before."""
        promise_changes.release_hold(self, hold_id, reason)

    def reserve(
        self,
        filesystem_uuid: str,
        *,
        host_id: int,
        path: bytes,
        reserved_bytes: int,
        purpose: str,
        expires_at: datetime,
    ) -> Reservation:
        """Promise bytes on a filesystem. The caller has seen in this transaction that they are there."""
        return promise_changes.reserve(
            self,
            {
                "filesystem_uuid": filesystem_uuid,
                "host_id": host_id,
                "path": path,
                "reserved_bytes": reserved_bytes,
                "purpose": purpose,
                "expires_at": expires_at,
            },
        )

    def fill_reservation(self, reservation_id: str, *, filled_bytes: int) -> None:
        """Record how much of a reservation is written by now."""
        promise_changes.fill_reservation(self, reservation_id, filled_bytes)

    def release_reservation(self, reservation_id: str) -> None:
        """Give a reservation back; StateChanged when it was given back before."""
        promise_changes.release_reservation(self, reservation_id)
