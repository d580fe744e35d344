"""What is promised while a copy runs: the source stays, and the destination keeps the room."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from artifactctl.archiving.source import Origin
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.artifacts import Reservation, Root
from artifactctl.inventory.leasing import RENEW_EVERY, LeaseSet, release_leases, renew_leases, take_leases
from artifactctl.inventory.process_identity import identify_process
from artifactctl.inventory.reserving import Promise, fill_reservation, release_reservation, reserve

SLOWEST_BYTES_A_SECOND = 20_000_000
"""How slow a copy may be until its promise ends."""
FILL_EVERY = timedelta(seconds=30)


@dataclass(slots=True, kw_only=True)
class Kept:
    """The lease and the promise of one copy: `sign_of_life` renews the one and counts the other as filled."""

    work: ArchivingWork
    leases: LeaseSet
    reservation: Reservation | None
    renewed: float
    filled: float

    def sign_of_life(self, written_bytes: int) -> None:
        """Called between pieces with the bytes written so far; LeaseLost when somebody broke the lease."""
        now = self.work.elapsed_clock()
        if self.leases.leases and now - self.renewed >= RENEW_EVERY.total_seconds():
            renew_leases(self.work.catalog, self.leases, acting=self.work.acting())
            self.renewed = now
        if self.reservation is not None and now - self.filled >= FILL_EVERY.total_seconds():
            fill_reservation(
                self.work.catalog,
                self.reservation.reservation_id,
                filled_bytes=min(written_bytes, self.reservation.reserved_bytes),
                acting=self.work.acting(),
            )
            self.filled = now


@contextmanager
def kept_while_copying(
    work: ArchivingWork, origin: Origin, root: Root | None, *, size_bytes: int, leased: bool = True
) -> Iterator[Kept]:
    """Lease the source and have `size_bytes` on the volume of `root` promised for the time of the block.

    NoRoom when the planner says that it does not fit. `root` None: the copy goes to no volume of ours. Without `leased`
    it comes from somewhere that nobody here removes anything from.
    """
    leases = _lease(work, origin) if leased else LeaseSet(owner="", leases=())
    try:
        reservation = None if root is None else _reserve(work, origin, root, size_bytes)
        try:
            now = work.elapsed_clock()
            yield Kept(work=work, leases=leases, reservation=reservation, renewed=now, filled=now)
        finally:
            if root is not None and reservation is not None:
                release_reservation(work.catalog, reservation.reservation_id, acting=work.acting_on(root))
    finally:
        if leased:
            release_leases(work.catalog, leases, acting=work.acting())


def _lease(work: ArchivingWork, origin: Origin) -> LeaseSet:
    return take_leases(
        work.catalog,
        (origin.artifact,),
        owner=secrets.token_hex(16),
        holder=identify_process(os.getpid(), work.identity()),
        command=f"artifactctl archive {origin.artifact.name}",
        acting=work.acting(),
    )


def _reserve(work: ArchivingWork, origin: Origin, root: Root, size_bytes: int) -> Reservation:
    host, acting = work.host_of(root), work.acting_on(root)
    slowest = min(work.bandwidth_bytes or SLOWEST_BYTES_A_SECOND, SLOWEST_BYTES_A_SECOND)
    promise = Promise(
        path=root.path,
        reserved_bytes=size_bytes,
        files=len(origin.entries),
        purpose=f"a copy of {origin.artifact.name}",
        expires_at=acting.now + timedelta(hours=1, seconds=size_bytes / slowest),
    )
    return reserve(work.catalog, host, promise, host.usage(root.path), acting=acting)
