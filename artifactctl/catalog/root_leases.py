"""Who holds the right to change what lies below a root: one row a root, with a fence that grows with every taking.

On one machine the root's own lock decides, and whoever got it takes the lease from the one before, who has ended. On
another machine, where that lock may not be seen, the lease of somebody who is still at work has to run out first.
Whoever lost the lease has lost it for every later transaction: a frozen operator finds a fence that is not its own.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, Row, insert, select, update

from artifactctl.catalog import terms
from artifactctl.catalog.failures import RootTakenOver
from artifactctl.catalog.schema import catalog_identity, root, root_lease
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.errors import Busy
from artifactctl.domain.ledger import RootLease

LIFETIME = timedelta(minutes=15)
"""How long a lease lasts after the last transaction of its holder, for operators on other machines."""

EPOCH_BITS = 40  # of a fence's 63: no epoch gives a million million of them

_rows = select(root_lease, root.c.name).join(root, root.c.id == root_lease.c.root_id)


def of_root(connection: Connection, root_id: str) -> RootLease | None:
    """Return the newest lease on a root, whatever became of it; None when nobody ever took one."""
    row = connection.execute(_rows.where(root_lease.c.root_id == root_id)).one_or_none()
    return None if row is None else _to_lease(row)


def take(writing: Transaction, root_id: str, *, machine_id: str, above: int) -> RootLease:
    """Take the lease with a fence higher than any before it and than `above`; the caller holds the root's lock.

    Busy when an operator on another machine is at work there.
    """
    known = of_root(writing.connection, root_id)
    now = terms.earliest(writing.connection, writing.now)
    if known is not None and known.is_in_force(now) and known.machine_id != machine_id:
        raise Busy(
            f"{known.holder} is changing the root `{known.root_name}` from another machine",
            remedy=f"wait until that has ended; if that machine is gone, until {known.expires_at:%H:%M:%S} UTC",
        )
    epoch: int = writing.connection.execute(select(catalog_identity.c.epoch)).scalar_one()
    facts = {
        "fence": max(known.fence if known else 0, above, (epoch - 1) << EPOCH_BITS) + 1,
        "machine_id": machine_id,
        "holder": writing.actor,
        "taken_at": writing.now,
        "expires_at": writing.now + LIFETIME,
        "released_at": None,
    }
    if known is None:
        writing.connection.execute(insert(root_lease).values(root_id=root_id, **facts))
    else:
        writing.connection.execute(update(root_lease).where(root_lease.c.root_id == root_id).values(**facts))
    taken = of_root(writing.connection, root_id)
    assert taken is not None
    return taken


def release(writing: Transaction, root_id: str, fence: int) -> None:
    """Give the lease back; nothing happens when somebody else has it by now."""
    mine = (root_lease.c.root_id == root_id) & (root_lease.c.fence == fence)
    writing.connection.execute(update(root_lease).where(mine).values(released_at=writing.now))


def require_held(connection: Connection, fences: Mapping[str, int], now: datetime) -> None:
    """Renew the leases with these fences, by root id; RootTakenOver when one of them is somebody else's by now."""
    for root_id, fence in sorted(fences.items()):
        mine = (root_lease.c.root_id == root_id) & (root_lease.c.fence == fence) & root_lease.c.released_at.is_(None)
        if connection.execute(update(root_lease).where(mine).values(expires_at=now + LIFETIME)).rowcount:
            continue
        found = of_root(connection, root_id)
        who = f"{found.holder} took over" if found is not None else "nobody is known to have taken over"
        name = found.root_name if found is not None else root_id
        raise RootTakenOver(
            f"{who} the right to change the root `{name}`; nothing more is done there",
            remedy="look with `artifactctl doctor`, then run the command again",
        )


def _to_lease(row: "Row[tuple[object, ...]]") -> RootLease:
    return RootLease(
        root_id=row.root_id,
        root_name=row.name,
        fence=row.fence,
        machine_id=row.machine_id,
        holder=row.holder,
        taken_at=row.taken_at,
        expires_at=row.expires_at,
        released_at=row.released_at,
    )
