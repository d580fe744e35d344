"""Questions about promises in force: leases, holds, reservations."""

from collections.abc import Callable, Collection
from datetime import datetime

from sqlalchemy import Connection, select

from artifactctl.catalog import terms
from artifactctl.catalog.mapping import to_hold, to_lease, to_reservation
from artifactctl.catalog.schema_artifacts import artifact
from artifactctl.catalog.schema_work import hold as hold_table
from artifactctl.catalog.schema_work import lease as lease_table
from artifactctl.catalog.schema_work import reservation
from artifactctl.domain.artifacts import Hold, Lease, Reservation
from artifactctl.domain.uptime import Uptime

_leases = select(lease_table, artifact.c.name.label("artifact_name")).join(artifact)
_holds = select(hold_table, artifact.c.name.label("artifact_name")).join(artifact)


def leases(
    connection: Connection,
    now: datetime,
    artifact_ids: Collection[int] | None,
    uptime: Callable[[], Uptime] | None = None,
) -> tuple[Lease, ...]:
    """Return leases that are neither released nor expired, by fence."""
    statement = _leases.where(terms.in_force(connection, lease_table, now, uptime))
    found = connection.execute(statement.order_by(lease_table.c.fence))
    return tuple(to_lease(row) for row in found if artifact_ids is None or row.artifact_id in artifact_ids)


def lease(connection: Connection, lease_id: str) -> Lease | None:
    """Return one lease, whatever became of it."""
    row = connection.execute(_leases.where(lease_table.c.lease_id == lease_id)).one_or_none()
    return None if row is None else to_lease(row)


def holds(connection: Connection, artifact_ids: Collection[int] | None) -> tuple[Hold, ...]:
    """Return holds that were not released, oldest first."""
    found = connection.execute(_holds.where(hold_table.c.released_at.is_(None)).order_by(hold_table.c.id))
    return tuple(to_hold(row) for row in found if artifact_ids is None or row.artifact_id in artifact_ids)


def released_holds(connection: Connection) -> tuple[Hold, ...]:
    """Return holds that somebody released, oldest first."""
    found = connection.execute(_holds.where(hold_table.c.released_at.is_not(None)).order_by(hold_table.c.id))
    return tuple(to_hold(row) for row in found)


def hold(connection: Connection, hold_id: int) -> Hold | None:
    """Return one hold, released or not."""
    row = connection.execute(_holds.where(hold_table.c.id == hold_id)).one_or_none()
    return None if row is None else to_hold(row)


def reservations(
    connection: Connection,
    now: datetime,
    filesystem_uuid: str | None,
    uptime: Callable[[], Uptime] | None = None,
) -> tuple[Reservation, ...]:
    """Return reservations that are neither released nor expired, oldest first."""
    statement = select(reservation).where(terms.in_force(connection, reservation, now, uptime))
    if filesystem_uuid is not None:
        statement = statement.where(reservation.c.filesystem_uuid == filesystem_uuid)
    statement = statement.order_by(reservation.c.made_at, reservation.c.id)
    return tuple(to_reservation(row) for row in connection.execute(statement))
