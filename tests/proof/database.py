"""The catalog's file past the program: what stands in it, and how it becomes one of an older version."""

import sqlite3
from contextlib import closing
from pathlib import Path

from artifactctl.catalog.engine import connect
from artifactctl.catalog.location import parse_location
from artifactctl.catalog.upgrading import downgrade

Columns = dict[str, tuple[str, ...]]
Rows = dict[str, list[tuple[object, ...]]]

OWN_TABLES = ("alembic_version", "audit_head")
OWN_COLUMNS = ("revision", "written_at")
"""What an upgrade itself moves on."""


def values(catalog: Path, columns: Columns | None = None) -> Rows:
    """Return what stands in these columns (None: in all), by table, the rows in order."""
    with closing(_opened(catalog)) as database:
        wanted = _all_columns(database) if columns is None else columns
        return {
            table: sorted(
                database.execute(f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(table)}").fetchall(), key=repr
            )
            for table, names in wanted.items()
        }


def kept_columns(catalog: Path) -> Columns:
    """Return the columns whose values an upgrade must keep."""
    with closing(_opened(catalog)) as database:
        return {
            table: tuple(name for name in names if name not in OWN_COLUMNS)
            for table, names in _all_columns(database).items()
            if table not in OWN_TABLES
        }


def take_back(catalog: Path, revision: str) -> None:
    """Make the catalog one of an older version of the program."""
    engines = connect(parse_location(str(catalog)), lock_wait_seconds=10)
    try:
        with engines.writers.begin() as connection:
            downgrade(connection, revision)
    finally:
        engines.dispose()


def _opened(catalog: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)


def _all_columns(database: sqlite3.Connection) -> Columns:
    tables = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()
    return {
        table: tuple(row[1] for row in database.execute(f"PRAGMA table_info({_quoted(table)})")) for (table,) in tables
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
