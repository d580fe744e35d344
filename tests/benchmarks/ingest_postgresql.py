"""How many members a second a catalog on PostgreSQL takes in: `python -m tests.benchmarks.ingest_postgresql [ROWS]`.

The yardstick is psycopg's COPY of rows of the same shape. Counted is the CPU time of this process and of the server,
which is started for this and removed at the end.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from artifactctl.catalog import create_or_upgrade
from artifactctl.catalog.members import Member
from tests.bench.postgres import Server, running_server
from tests.benchmarks.ingest import NOW, PER_FOLDER, ROWS, members
from tests.benchmarks.turns import Contender, compare

_TICKS = os.sysconf("SC_CLK_TCK")


def into_the_catalog(server: Server, listing: list[Member]) -> float:
    """List the members in a new catalog; return the CPU seconds of the listing alone."""
    name = server.new_database()
    catalog = create_or_upgrade(server.url(name), now=NOW)
    spent = _spent(server, lambda: catalog.list_members(listing, now=NOW))
    catalog.close()
    server.drop_database(name)
    return spent


def by_bare_copy(server: Server, listing: list[Member]) -> float:
    """Copy rows of the same shape in one statement, without finding out their folders."""
    rows = [
        (row // PER_FOLDER, path.rpartition(b"/")[2], 0, size, tokens)
        for row, (path, _, size, tokens) in enumerate(listing)
    ]
    name = server.new_database()
    with server.connect(name) as connection:
        connection.execute(
            "CREATE TABLE shard (directory_id bigint, name bytea, type smallint, size_bytes bigint, tokens bigint,"
            " PRIMARY KEY (directory_id, name))"
        )

        def copy_all() -> None:
            with connection.cursor() as cursor, cursor.copy("COPY shard FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

        spent = _spent(server, copy_all)
    server.drop_database(name)
    return spent


def _spent(server: Server, act: Callable[[], object]) -> float:
    begun = time.process_time() + _server_seconds(server)
    act()
    return time.process_time() + _server_seconds(server) - begun


def _server_seconds(server: Server) -> float:
    """Return the CPU seconds of the server's processes, those included that have ended."""
    main = (server.folder / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0]
    ticks = sum(_ticks(Path("/proc") / main, ended=True))
    for child in (Path("/proc") / main / "task" / main / "children").read_text(encoding="ascii").split():
        try:
            ticks += sum(_ticks(Path("/proc") / child, ended=False))
        except FileNotFoundError:  # it ended meanwhile
            continue
    return ticks / _TICKS


def _ticks(process: Path, *, ended: bool) -> list[int]:
    fields = (process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return [int(field) for field in fields[11 : 15 if ended else 13]]


def main() -> None:
    """Measure both."""
    listing = members(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    print(f"{len(listing):,} members")
    with running_server() as server:
        compare(
            Contender(name="the catalog on PostgreSQL", run=lambda: into_the_catalog(server, listing)),
            Contender(name="bare COPY", run=lambda: by_bare_copy(server, listing)),
            items=len(listing),
        )


if __name__ == "__main__":
    main()
