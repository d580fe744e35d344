"""How many members a second the catalog takes in: `python -m tests.benchmarks.ingest [ROWS]`, against bare sqlite3."""

import sqlite3
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from artifactctl.catalog import create_or_upgrade
from artifactctl.catalog.members import Member
from tests.benchmarks.turns import Contender, compare

ROWS = 500_000
PER_FOLDER = 2000
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def members(count: int) -> list[Member]:
    """Return members as a walk brings them."""
    return [(b"rows_%d/data_%d.ckpt" % (row // PER_FOLDER, row), "f", 43_008 + row, None) for row in range(count)]


def into_the_catalog(listing: list[Member]) -> float:
    """List the members in a new catalog; return the CPU seconds of the listing alone."""
    with tempfile.TemporaryDirectory() as folder:
        catalog = create_or_upgrade(Path(folder) / "catalog.db", now=NOW)
        begun = time.process_time()
        catalog.list_members(listing, now=NOW)
        spent = time.process_time() - begun
        catalog.close()
    return spent


def into_bare_sqlite(listing: list[Member]) -> float:
    """Insert rows of the same shape in one transaction, without SQLAlchemy and without finding out their folders."""
    rows = [
        (row // PER_FOLDER, path.rpartition(b"/")[2], 0, size, tokens)
        for row, (path, _, size, tokens) in enumerate(listing)
    ]
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            "CREATE TABLE shard (directory_id INTEGER, name BLOB, type INTEGER, size_bytes INTEGER, tokens INTEGER,"
            " PRIMARY KEY (directory_id, name)) WITHOUT ROWID"
        )
        begun = time.process_time()
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO shard VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        spent = time.process_time() - begun
        connection.close()
    return spent


def main() -> None:
    """Measure both."""
    listing = members(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    print(f"{len(listing):,} members")
    compare(
        Contender(name="the catalog", run=lambda: into_the_catalog(listing)),
        Contender(name="bare sqlite3", run=lambda: into_bare_sqlite(listing)),
        items=len(listing),
    )


if __name__ == "__main__":
    main()
