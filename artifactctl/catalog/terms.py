"""Promises that end by themselves: one is over once every clock that can be asked says so.

A lease hides behind a clock that jumped ahead as if it were over, while its holder reads on. So each promise also
records where the uptime of the machine that made it will stand at its end: within that boot the machine itself cannot
be wrong about it. Elsewhere, where a database server keeps the catalog, the server's clock has to agree.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Table, and_, cast, func, or_, select, type_coerce

from artifactctl.catalog.columns import Instant
from artifactctl.catalog.schema import catalog_identity
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.uptime import Uptime

_MICROSECOND = timedelta(microseconds=1)


def ending(writing: Transaction, expires_at: datetime) -> dict[str, Any]:
    """Return the columns of a promise that shall end at `expires_at` by the clock of this transaction.

    A clock that is behind what others wrote would let it end too early for them: it is measured from the latest write.
    """
    term = expires_at - writing.now
    latest: datetime = writing.connection.execute(select(catalog_identity.c.written_at)).scalar_one()
    up = None if writing.uptime is None else writing.uptime()
    return {
        "expires_at": max(latest, writing.now) + term,
        "ends_boot_id": None if up is None else up.boot_id,
        "ends_uptime_us": None if up is None else (up.since_boot + term) // _MICROSECOND,
    }


def in_force(
    connection: Connection, table: Table, now: datetime, uptime: Callable[[], Uptime] | None
) -> ColumnElement[bool]:
    """Return the condition that a promise was not given back and is not over."""
    clocks: list[ColumnElement[bool]] = [table.c.expires_at > now]
    if connection.dialect.name == "postgresql":
        clocks.append(type_coerce(table.c.expires_at, BigInteger) > _server_clock())
    if uptime is not None:
        up = uptime()
        still = table.c.ends_uptime_us > up.since_boot // _MICROSECOND
        clocks.append(and_(table.c.ends_boot_id == up.boot_id, still))
    return and_(table.c.released_at.is_(None), or_(*clocks))


def earliest(connection: Connection, now: datetime) -> datetime:
    """Return the earlier of a clock and that of the server which keeps the catalog, where one does."""
    if connection.dialect.name != "postgresql":
        return now
    server: datetime = connection.execute(select(type_coerce(_server_clock(), Instant))).scalar_one()
    return min(now, server)


def _server_clock() -> ColumnElement[int]:
    return cast(func.extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)
