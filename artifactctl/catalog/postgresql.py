"""What is particular to PostgreSQL: its connections, and the writers' turn.

A writer takes one advisory lock of the transaction before it has read anything, and READ COMMITTED shows each of its
statements all that was committed before that: what BEGIN IMMEDIATE is to SQLite. So no two writers ever overlap, and
what guards read about leases, holds and descendants is still so when the same transaction marks `quarantining` or
`purging`. A reader sees one snapshot (REPEATABLE READ, read-only) and waits for nobody.

Why not SERIALIZABLE: it fails transactions in hindsight, and the body of one cannot be run twice (it has drawn numbers
and looked at a machine); its predicate locks would also let every scan of many members fail. With one writer at a time
there is nothing to fail: a deadlock or a serialisation failure can only come from somebody else's program, and is then
reported as `Busy` with nothing recorded.

A writer that was frozen or lost its network keeps the turn until the server ends its session after `_IDLE_SECONDS`.
"""

import os
import socket
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from artifactctl.catalog.location import Location
from artifactctl.domain.errors import Busy, UsageError

_IDLE_SECONDS = 30
_TURN_CLASS = 0x41524349  # "ARCI": our advisory locks among those of other programs in the database
_LOCK_NOT_AVAILABLE = "55P03"

_CONNECTING = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""A server that stopped answering is noticed within a minute. What the URL says itself goes before these."""

_BEGIN = (
    "SET LOCAL lock_timeout = {wait}; SET LOCAL idle_in_transaction_session_timeout = {idle};"
    " SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local');"
    " SELECT pg_advisory_xact_lock({turn}, hashtext(current_schema()))"
)
_HOLDER = (
    "SELECT usename, application_name, CAST(extract(epoch FROM now() - xact_start) AS integer)"
    " FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND granted AND classid = {turn} AND datname = current_database()"
    " AND objid = (hashtext(current_schema())::bigint & 4294967295)::oid"
)


def reading_engine(location: Location) -> Engine:
    """Return an engine whose transactions are read-only looks at one state; a standby server will do."""
    return _engine(location, isolation_level="REPEATABLE READ", postgresql_readonly=True)


def writing_engine(location: Location, *, lock_wait_seconds: float) -> Engine:
    """Return an engine whose transactions take the writers' turn as they begin, waiting that long for it."""
    engine = _engine(location, isolation_level="READ COMMITTED")

    def begin(connection: Connection) -> None:
        _take_turn(connection, location, lock_wait_seconds)

    event.listen(engine, "begin", begin)
    return engine


def _engine(location: Location, **execution_options: Any) -> Engine:
    url = location.url
    try:
        # The ping finds a connection that was cut meanwhile: a lease is renewed for days.
        return create_engine(
            url,
            connect_args=_connecting(url),
            execution_options=execution_options,
            pool_pre_ping=True,
            use_native_hstore=False,
        )
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the driver for {location.shown} is missing: {error.name}", remedy="pip install 'artifactctl[postgres]'"
        ) from error


def _connecting(url: URL) -> dict[str, str]:
    name = f"artifactctl, process {os.getpid()} on {socket.gethostname()}"
    own = {**_CONNECTING, "application_name": name[:63], "client_encoding": "utf8"}
    environment = {"connect_timeout": "PGCONNECT_TIMEOUT", "application_name": "PGAPPNAME"}
    return {
        key: value for key, value in own.items() if key not in url.query and environment.get(key, "") not in os.environ
    }


def _take_turn(connection: Connection, location: Location, lock_wait_seconds: float) -> None:
    statement = _BEGIN.format(wait=max(1, round(lock_wait_seconds * 1000)), idle=_IDLE_SECONDS * 1000, turn=_TURN_CLASS)
    try:
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        raise Busy(
            f"{_holder(connection)} is writing to the catalog {location.shown}", remedy="wait for it and try again"
        ) from error


def _holder(connection: Connection) -> str:
    """Return who has the turn; of other roles' sessions the server tells only the role."""
    borrowed = connection.connection
    borrowed.rollback()
    cursor = borrowed.cursor()
    try:
        cursor.execute(_HOLDER.format(turn=_TURN_CLASS))
        found = cursor.fetchone()
    finally:
        cursor.close()
        borrowed.rollback()
    if found is None:
        return "somebody"
    role, application, seconds = found
    since = "" if seconds is None else f", for {seconds} s by now"
    return f"{role} ({application or 'another session'}{since})"
