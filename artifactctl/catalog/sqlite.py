"""What is particular to SQLite: its connections, its room on a full disk, its errors.

A reader's connection is opened read-only, so reading provably changes nothing; a writer says BEGIN IMMEDIATE, so it
waits for the lock before it has read anything it acts upon.

Why a reader stays open until the writers have closed: the last connection that closes removes the write-ahead log,
and with it the space that lets a small commit succeed on a full disk. A read-only connection cannot remove it.
"""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from artifactctl.catalog.failures import CatalogDamaged, CatalogFull, CatalogUnusable, NotACatalog
from artifactctl.catalog.filesystem import SHARING, why_not_permitted
from artifactctl.catalog.location import Location, sqlite_address
from artifactctl.domain.errors import ArtifactctlError, Busy

_FEW_PAGES = 128
_GROWTH = (
    "DROP TABLE IF EXISTS spare_pages",
    "CREATE TABLE spare_pages (filler BLOB)",
    "INSERT INTO spare_pages VALUES (zeroblob(2097152))",
    "PRAGMA wal_checkpoint(RESTART)",
    "DROP TABLE spare_pages",
    "PRAGMA wal_checkpoint(RESTART)",
)
"""Each its own transaction: pages that are freed in the transaction that took them are never written at all."""

_LOG_PAGES = 400
"""The log is emptied after so many pages: fewer than `_GROWTH` made it long, so that it never outgrows that."""


def reading_engine(path: Path, *, lock_wait_seconds: float) -> Engine:
    """Return an engine whose connections cannot write."""
    return _sqlite(path, mode="ro", lock_wait_seconds=lock_wait_seconds)


def writing_engine(path: Path, *, lock_wait_seconds: float) -> Engine:
    """Return an engine whose transactions take the write lock as they begin, waiting that long for it."""
    return _sqlite(path, mode="rw", lock_wait_seconds=lock_wait_seconds)


def _sqlite(path: Path, *, mode: str, lock_wait_seconds: float) -> Engine:
    address = sqlite_address(path, mode=mode)

    def opened() -> sqlite3.Connection:
        return sqlite3.connect(
            address, uri=True, timeout=lock_wait_seconds, isolation_level=None, check_same_thread=False
        )

    engine = create_engine("sqlite://", creator=opened, poolclass=QueuePool)
    event.listen(engine, "connect", _set_up_writer if mode == "rw" else _set_up_reader)
    event.listen(engine, "begin", _begin_writing if mode == "rw" else _begin_reading)
    return engine


def _set_up_writer(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = OFF")  # some builds overwrite what is deleted, which fills the log
    cursor.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    cursor.close()


def _set_up_reader(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def keep_spare_pages(writers: Engine) -> None:
    """Grow the database and its log ahead of need, so that small commits succeed when the disk is full.

    Free pages inside the file and log blocks that were written before cost no new space. Where the disk is full
    already or somebody else is writing, what is there has to do: the next writer tries again.
    """
    borrowed = writers.raw_connection()
    cursor = borrowed.cursor()
    try:
        cursor.execute("PRAGMA freelist_count")
        found = cursor.fetchone()
        if found is not None and found[0] < _FEW_PAGES:
            for statement in _GROWTH:
                cursor.execute(statement)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
            raise
    finally:
        cursor.close()
        borrowed.close()


def may_lack_space(error: DBAPIError) -> bool:
    """Whether a full disk can be what made SQLite fail; it says so only in part of the cases."""
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def explain(error: DBAPIError | sqlite3.Error, location: Location) -> ArtifactctlError | None:
    """Return what a database error means for a person, None when it is a fault of the program."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return _unusable(cause, location) if isinstance(error, OperationalError) else None
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(
                f"another process is writing to the catalog {location.shown}",
                remedy="wait for it and try again",
            )
        case sqlite3.SQLITE_FULL:
            return CatalogFull(
                f"the disk that holds the catalog {location.shown} is full; nothing was recorded",
                remedy="free a little space there, or move the catalog to another disk and set ARTIFACTCTL_CATALOG",
            )
        case sqlite3.SQLITE_CORRUPT:
            return CatalogDamaged(
                f"the catalog {location.shown} reads as damaged",
                remedy="do not delete it: check the disk (a failed device reads as damage and is whole after a "
                "remount), then `artifactctl catalog restore FILE` from a backup",
            )
        case sqlite3.SQLITE_NOTADB:
            return NotACatalog(
                f"{location.shown} is not a catalog", remedy="name the catalog with --catalog or ARTIFACTCTL_CATALOG"
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_PERM:
            return _unusable(cause, location)
    return None


def _unusable(cause: BaseException | None, location: Location) -> CatalogUnusable:
    not_permitted = why_not_permitted(location.path) if location.path is not None else ""
    if not_permitted:
        return CatalogUnusable(f"the catalog {location.shown} cannot be used: {not_permitted}", remedy=SHARING)
    return CatalogUnusable(
        f"the catalog {location.shown} cannot be used: {cause}",
        remedy="check that its folder is yours and has space left",
    )
