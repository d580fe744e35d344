"""A lease that a program holds while it works: renewed in the background, given back at the end."""

from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from artifactctl.api.renewal import Renewal
from artifactctl.domain.artifacts import Lease
from artifactctl.domain.errors import Refused

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog
    from artifactctl.inventory.acting import Acting
    from artifactctl.inventory.leasing import LeaseSet


class HeldLease:
    """Leases on several artifacts, taken together; a context manager.

    Between two shards a program asks `check`: somebody may have broken the lease of a program that seemed gone, and
    whoever was paused for long may hold nothing any more.
    """

    def __init__(
        self,
        catalog: "Catalog",
        held: "LeaseSet",
        *,
        acting_now: Callable[[], "Acting"],
        until: datetime,
        renew_every: timedelta,
    ) -> None:
        self._catalog = catalog
        self._held = held
        self._acting_now = acting_now
        self._until = until
        self._renewal = Renewal(self._renew, every=renew_every, name="artifactctl-lease")

    @property
    def leases(self) -> tuple[Lease, ...]:
        """The leases as they were granted, one an artifact."""
        return self._held.leases

    @property
    def fence(self) -> int:
        """A number above that of every lease granted before: what a store can compare to turn a late writer away."""
        return max(lease.fence for lease in self._held.leases)

    def check(self) -> None:
        """Return while everything is still leased; Refused with the reason when it is not."""
        lost = self._renewal.lost
        if lost is not None:
            raise Refused(lost.message, remedy="take a new lease and check what you read") from lost
        if self._acting_now().now >= self._until:
            names = ", ".join(lease.artifact_name for lease in self._held.leases)
            raise Refused(f"the lease on {names} has ended at its own limit", remedy="take it for longer")

    def __enter__(self) -> "HeldLease":
        self._renewal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from artifactctl.inventory.leasing import release_leases

        self._renewal.stop()
        if self._renewal.lost is None:
            release_leases(self._catalog, self._held, acting=self._acting_now())

    def _renew(self) -> bool:
        """Extend the leases; false at their own limit."""
        from artifactctl.inventory.leasing import renew_leases

        acting = self._acting_now()
        if acting.now >= self._until:
            return False
        renew_leases(self._catalog, self._held, acting=acting, until=self._until)
        return True
