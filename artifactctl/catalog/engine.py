"""Connections to the database, whichever it is: readers and writers have engines of their own.

A reader's connection is read-only and sees one state. Whoever begins a transaction with a writer's engine has the
writers' turn from then on: nobody else's write comes between what it reads and what it changes on the strength of it.
"""

import sqlite3
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from artifactctl.catalog import sqlite
from artifactctl.catalog.location import Location
from artifactctl.domain.errors import ArtifactctlError


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """One engine to read with and one to write with."""

    readers: Engine
    writers: Engine

    def dispose(self) -> None:
        """Close every connection, the readers' last: on SQLite a reader keeps the write-ahead log."""
        self.writers.dispose()
        self.readers.dispose()


def connect(location: Location, *, lock_wait_seconds: float) -> Engines:
    """Return engines for a location; nothing is opened yet. A writer waits that long for another one."""
    if location.path is not None:
        return Engines(
            readers=sqlite.reading_engine(location.path, lock_wait_seconds=lock_wait_seconds),
            writers=sqlite.writing_engine(location.path, lock_wait_seconds=lock_wait_seconds),
        )
    from artifactctl.catalog import postgresql  # its dialect costs every other start its import

    return Engines(
        readers=postgresql.reading_engine(location),
        writers=postgresql.writing_engine(location, lock_wait_seconds=lock_wait_seconds),
    )


def explain(error: DBAPIError | sqlite3.Error, location: Location) -> ArtifactctlError | None:
    """Return what a database error means for a person, None when it is a fault of the program."""
    if location.path is not None:
        return sqlite.explain(error, location)
    from artifactctl.catalog import postgresql_failures

    return postgresql_failures.explain(error, location)
