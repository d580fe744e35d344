"""Copies of a SQLite catalog that can take its place: consistent, private, in one file without a log beside it.

A catalog is put in place through SQLite itself, in one transaction, never by exchanging files: a process that has the
old file open would go on writing to it, and closing it would remove the log of the new one.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from artifactctl.catalog import versions
from artifactctl.catalog.engine import connect, explain
from artifactctl.catalog.failures import CatalogDamaged, CopyFailed
from artifactctl.catalog.filesystem import prepare_files
from artifactctl.catalog.gate import OPEN
from artifactctl.catalog.identity_changes import note_change
from artifactctl.catalog.location import Location, parse_location, sqlite_address
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.errors import Busy, UsageError

LOCK_WAIT_SECONDS = 15.0


def file_of(location: str) -> Path:
    """Return the catalog's file; UsageError for a catalog on a server."""
    where = parse_location(location)
    if where.path is None:
        raise UsageError(
            f"{where.shown} is on a server: a backup is put into another, empty database there, never over this one",
            remedy="createdb --encoding=UTF8 NAME; then, with a copy of the backup: artifactctl --catalog COPY catalog"
            " copy postgresql://.../NAME; or pg_restore of what pg_dump wrote",
        )
    return where.path


def copy_whole(source: Path, to: Path) -> None:
    """Copy a catalog into the existing empty file `to` as one consistent state, while others may write; then check it.

    CatalogDamaged when the copy is not sound, CopyFailed when it could not be made.
    """
    try:
        with (
            closing(sqlite3.connect(sqlite_address(source, mode="ro"), uri=True)) as original,
            closing(sqlite3.connect(sqlite_address(to, mode="rw"), uri=True)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            problems = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(5)")]
    except sqlite3.Error as error:
        raise _failed(error, source, to) from error
    if problems != ["ok"]:
        raise CatalogDamaged(
            f"the catalog {source} is damaged: {'; '.join(problems)}",
            remedy="check the disk below it; `artifactctl catalog restore FILE` puts an older backup in its place",
        )


def bring_up(copy: Path) -> None:
    """Bring a copy to this program's version; CatalogTooNew and NotACatalog as `open_catalog` raises them."""
    # Imported here since most commands must not pay for Alembic.
    from artifactctl.catalog.upgrading import upgrade

    engines = connect(parse_location(copy), lock_wait_seconds=0)
    try:
        with engines.writers.begin() as connection:
            found = versions.stored_version(connection)
            if found not in versions.KNOWN:
                versions.require_current(found, str(copy))
            upgrade(connection)
    finally:
        engines.dispose()
    _without_log(copy)


@contextmanager
def reading_copy(copy: Path) -> Iterator[Reading]:
    """Look at a file of this version, wherever it lies: nobody else writes to a copy, so any filesystem will do."""
    engines = connect(parse_location(copy), lock_wait_seconds=LOCK_WAIT_SECONDS)
    try:
        with engines.readers.connect() as connection:
            versions.require_current(versions.stored_version(connection), str(copy))
            yield Reading(connection)
    finally:
        engines.dispose()


@contextmanager
def changing_copy(copy: Path, *, actor: str, now: datetime) -> Iterator[Writing]:
    """Change a copy in one transaction, before it takes anybody's place."""
    engines = connect(parse_location(copy), lock_wait_seconds=0)
    try:
        with engines.writers.begin() as connection:
            note_change(connection, now)
            yield Writing(connection, actor=actor, now=now, gate=OPEN)
    finally:
        engines.dispose()
    _without_log(copy)


def put_in_place(copy: Path, target: Path) -> None:
    """Let the content of `target` become that of `copy`, in one transaction; others see the one or the other.

    Busy when somebody keeps the write lock, CopyFailed when the disk is full: then the old content stays.
    """
    if not os.path.lexists(target):
        prepare_files(target)
    deadline = time.monotonic() + LOCK_WAIT_SECONDS

    def still_waiting(status: int, remaining: int, total: int) -> None:
        if time.monotonic() > deadline and remaining == total:
            raise Busy(f"another process is writing to the catalog {target}", remedy="wait for it and try again")

    try:
        with (
            closing(sqlite3.connect(sqlite_address(copy, mode="ro"), uri=True)) as original,
            closing(sqlite3.connect(sqlite_address(target, mode="rw"), uri=True, timeout=0)) as catalog,
        ):
            original.backup(catalog, progress=still_waiting, sleep=0.1)
    except sqlite3.Error as error:
        raise _failed(error, copy, target) from error


def _without_log(copy: Path) -> None:
    with closing(sqlite3.connect(sqlite_address(copy, mode="rw"), uri=True)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()


def _failed(error: sqlite3.Error, source: Path, to: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        where: Location = parse_location(source)
        return explain(error, where) or error
    return CopyFailed(
        f"{source} could not be copied to {to.parent}: {error}",
        remedy="check that both can be reached and that there is space left, then try again",
    )
