"""Changes to promises: leases, holds, reservations."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from artifactctl.catalog import artifact_queries, promise_queries, terms
from artifactctl.catalog.failures import LeaseLost, StateChanged, UnknownObject
from artifactctl.catalog.mapping import to_reservation
from artifactctl.catalog.root_leases import EPOCH_BITS
from artifactctl.catalog.schema import catalog_identity
from artifactctl.catalog.schema_work import hold, lease, reservation
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import Hold, Lease, Reservation
from artifactctl.domain.roles import Act

_ID_BYTES = 8


def grant_lease(
    writing: Transaction, artifact_id: int, owner: str, expires_at: datetime, process: Mapping[str, Any]
) -> Lease:
    """Promise that the artifact stays until `expires_at`."""
    wanted = artifact_queries.require(writing.connection, artifact_id)
    if not wanted.is_live:
        states = ", ".join(sorted({copy.state for copy in wanted.replicas})) or "without any copy"
        raise StateChanged(
            f"{wanted.name} cannot be leased: it is {states}",
            remedy=f"artifactctl quarantine restore {wanted.name}, if it is in quarantine",
        )
    lease_id = secrets.token_hex(_ID_BYTES)
    writing.connection.execute(
        insert(lease).values(
            fence=_next_fence(writing),
            lease_id=lease_id,
            artifact_id=artifact_id,
            owner=owner,
            granted_at=writing.now,
            broken_by="",
            broken_reason="",
            **terms.ending(writing, expires_at),
            **process,
        )
    )
    return _lease(writing, lease_id)


def renew_lease(writing: Transaction, lease_id: str, owner: str, expires_at: datetime) -> Lease:
    """Extend a lease in force; a lease never gets shorter."""
    known = _owned(writing, lease_id, owner)
    in_force = terms.in_force(writing.connection, lease, writing.now, writing.uptime)
    renewed = terms.ending(writing, expires_at)
    renewed["expires_at"] = max(renewed["expires_at"], known.expires_at)
    renewal = update(lease).where(lease.c.lease_id == lease_id, in_force).values(**renewed)
    if not writing.connection.execute(renewal).rowcount:
        raise LeaseLost(
            f"the lease {lease_id} on {known.artifact_name} is over", remedy="take a new one and check what you read"
        )
    return _lease(writing, lease_id)


def release_lease(writing: Transaction, lease_id: str, owner: str) -> None:
    """Give a lease back."""
    _owned(writing, lease_id, owner)
    _end_lease(writing, lease_id, {})


def break_lease(writing: Transaction, lease_id: str, reason: str) -> None:
    """End somebody else's lease, recording who did and why."""
    known = _lease(writing, lease_id)
    writing.require(Act.BREAK_LEASE, about=known.artifact_name)
    if not _end_lease(writing, lease_id, {"broken_by": writing.actor, "broken_reason": reason}):
        raise StateChanged(f"the lease {lease_id} on {known.artifact_name} is over already")


def place_hold(
    writing: Transaction, artifact_id: int, reason: str, until: datetime | None, placed_by: str, placed_at: datetime
) -> Hold:
    """Keep the artifact until the hold is released."""
    artifact_queries.require(writing.connection, artifact_id)
    statement = insert(hold).values(
        artifact_id=artifact_id,
        reason=reason,
        actor=placed_by,
        placed_at=placed_at,
        until=until,
        released_by="",
        release_reason="",
    )
    return _hold(writing, writing.connection.execute(statement.returning(hold.c.id)).scalar_one())


def release_hold(writing: Transaction, hold_id: int, reason: str) -> None:
    """Release a hold, recording who did and why."""
    known = _hold(writing, hold_id)
    writing.require(Act.RELEASE_HOLD, about=known.artifact_name)
    statement = update(hold).where(hold.c.id == hold_id, hold.c.released_at.is_(None))
    release = {"released_at": writing.now, "released_by": writing.actor, "release_reason": reason}
    if not writing.connection.execute(statement.values(**release)).rowcount:
        raise StateChanged(f"the hold {hold_id} on {known.artifact_name} was released before")


def reserve(writing: Transaction, facts: Mapping[str, Any]) -> Reservation:
    """Promise bytes on a filesystem."""
    statement = insert(reservation).values(
        id=secrets.token_hex(_ID_BYTES),
        filled_bytes=0,
        actor=writing.actor,
        made_at=writing.now,
        **{**facts, **terms.ending(writing, facts["expires_at"])},
    )
    return to_reservation(writing.connection.execute(statement.returning(reservation)).one())


def fill_reservation(writing: Transaction, reservation_id: str, filled_bytes: int) -> None:
    """Record how much of a reservation is written by now."""
    _change_reservation(writing, reservation_id, {"filled_bytes": filled_bytes})


def release_reservation(writing: Transaction, reservation_id: str) -> None:
    """Give a reservation back."""
    _change_reservation(writing, reservation_id, {"released_at": writing.now})


def _change_reservation(writing: Transaction, reservation_id: str, changes: Mapping[str, Any]) -> None:
    unreleased = update(reservation).where(reservation.c.id == reservation_id, reservation.c.released_at.is_(None))
    if writing.connection.execute(unreleased.values(**changes)).rowcount:
        return
    known = select(reservation.c.id).where(reservation.c.id == reservation_id)
    if writing.connection.execute(known).first() is None:
        raise UnknownObject(f"there is no reservation {reservation_id}", remedy="artifactctl reservation ls")
    raise StateChanged(f"the reservation {reservation_id} was released before", remedy="artifactctl reservation ls")


def _next_fence(writing: Transaction) -> int:
    """Return a number above every fence ever given, those included that a catalog gave whose place this one took."""
    epoch: int = writing.connection.execute(select(catalog_identity.c.epoch)).scalar_one()
    newest: int | None = writing.connection.execute(select(func.max(lease.c.fence))).scalar_one()
    return max(newest or 0, (epoch - 1) << EPOCH_BITS) + 1


def _end_lease(writing: Transaction, lease_id: str, how: Mapping[str, Any]) -> bool:
    unreleased = update(lease).where(lease.c.lease_id == lease_id, lease.c.released_at.is_(None))
    return bool(writing.connection.execute(unreleased.values(released_at=writing.now, **how)).rowcount)


def _owned(writing: Transaction, lease_id: str, owner: str) -> Lease:
    known = _lease(writing, lease_id)
    if known.owner != owner:
        raise LeaseLost(f"the lease {lease_id} on {known.artifact_name} belongs to somebody else")
    return known


def _lease(writing: Transaction, lease_id: str) -> Lease:
    found = promise_queries.lease(writing.connection, lease_id)
    if found is None:
        raise UnknownObject(f"there is no lease {lease_id}", remedy="artifactctl lease ls")
    return found


def _hold(writing: Transaction, hold_id: int) -> Hold:
    found = promise_queries.hold(writing.connection, hold_id)
    if found is None:
        raise UnknownObject(f"there is no hold {hold_id}", remedy="artifactctl hold ls")
    return found
