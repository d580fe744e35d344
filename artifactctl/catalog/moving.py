"""Filling an empty database with everything another catalog holds, whichever databases the two are.

All of it in one transaction of the target: its schema is made, the rows are streamed in, the sequences are set, and
what arrived is read back and compared with what was sent, by number and content, before the caller's part of the
transaction begins. Rows are compared without regard to their order, which databases do not share.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Table, inspect, select, text, type_coerce
from sqlalchemy.types import NullType

from artifactctl.catalog import schema_artifacts, schema_work
from artifactctl.catalog.bulk import insert_rows
from artifactctl.catalog.engine import connect
from artifactctl.catalog.explaining import explained
from artifactctl.catalog.failures import CopyFailed, TargetTaken
from artifactctl.catalog.filesystem import is_usable_file, prepare_files
from artifactctl.catalog.gate import OPEN
from artifactctl.catalog.location import Location, parse_location
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.schema import metadata
from artifactctl.catalog.writing import Writing

_ROWS_AT_A_TIME = 2_000
_NOT_COPIED = frozenset({"alembic_version", "spare_pages"})
_LOCK_WAIT_SECONDS = 15.0
_MODULUS = 1 << 256

assert schema_artifacts.artifact.metadata is schema_work.run.metadata is metadata


@dataclass(slots=True)
class Tally:
    """How many rows of a table passed by, and the sum of their digests."""

    rows: int = 0
    digest: int = 0

    def count(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, counted."""
        for row in rows:
            self.rows += 1
            self.digest = (self.digest + int.from_bytes(hashlib.sha256(repr(row).encode()).digest())) % _MODULUS
            yield row


@contextmanager
def filled(
    source: Reading, location: str | Path, *, also: Iterable[Table], actor: str, now: datetime
) -> Iterator["Filled"]:
    """Fill the empty database at a path or URL; it stands when the block ends, and is empty again when that fails.

    `also` are tables of other packages in the same database. TargetTaken when there is anything already.
    """
    where = parse_location(location)
    if where.path is not None and not is_usable_file(where.path):
        prepare_files(where.path)
    engines = connect(where, lock_wait_seconds=_LOCK_WAIT_SECONDS)
    try:
        with explained(where), engines.writers.begin() as connection:
            _make_schema(connection, where)
            counts = _copy(source.connection, connection, (*metadata.sorted_tables, *also))
            yield Filled(writing=Writing(connection, actor=actor, now=now, gate=OPEN), counts=counts, shown=where.shown)
    finally:
        engines.dispose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A database that was filled and not committed yet. `counts` are the rows of each table, `shown` says where."""

    writing: Writing
    counts: dict[str, int]
    shown: str


def keep_waiting(reading: Reading) -> None:
    """Let the source's transaction last as long as the copy takes, also while nothing is asked of it."""
    if reading.connection.dialect.name == "postgresql":
        reading.connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def _make_schema(connection: Connection, where: Location) -> None:
    from artifactctl.catalog.upgrading import upgrade  # most commands must not pay for Alembic

    if set(inspect(connection).get_table_names()) - {"spare_pages"}:
        raise TargetTaken(
            f"{where.shown} is not empty, and stays as it is",
            remedy="name a new file, or an empty database: createdb --encoding=UTF8 NAME",
        )
    upgrade(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))  # an artifact may refer to one that comes later


def _copy(source: Connection, target: Connection, tables: tuple[Table, ...]) -> dict[str, int]:
    _require_known(source, tables)
    counts: dict[str, int] = {}
    for table in tables:
        sent, arrived = Tally(), Tally()
        rows = sent.count(_rows(source, table))
        columns = [column.name for column in table.columns]
        if table.name == "audit_head":  # its one row is there from the beginning
            target.execute(table.update().values(dict(zip(table.columns, next(rows), strict=True))))
        insert_rows(target, table.name, columns, rows)
        for _ in arrived.count(_rows(target, table)):
            pass
        if sent != arrived:
            raise CopyFailed(
                f"of {sent.rows:,} rows of {table.name} {arrived.rows:,} arrived, or not as they were sent",
                remedy="nothing was kept; check both databases with their own tools, then try again",
            )
        counts[table.name] = sent.rows
        if target.dialect.name == "postgresql":
            _set_sequence(target, table)
    return counts


def _require_known(source: Connection, tables: tuple[Table, ...]) -> None:
    strange = set(inspect(source).get_table_names()) - {table.name for table in tables} - _NOT_COPIED
    if strange:
        raise CopyFailed(
            f"the catalog holds tables that nobody knows how to copy: {', '.join(sorted(strange))}",
            remedy="remove them, or copy with the artifactctl that made them",
        )


def _rows(connection: Connection, table: Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as they are stored, with truth values as such, some thousand at a time."""
    statement = select(*(type_coerce(column, NullType()) for column in table.columns))
    changes = [_as_truth if isinstance(column.type, Boolean) else None for column in table.columns]
    plain = not any(changes)
    with connection.execute(statement, execution_options={"yield_per": _ROWS_AT_A_TIME}) as result:
        for row in result:
            yield tuple(row) if plain else tuple(_changed(row, changes))


def _changed(row: Iterable[Any], changes: Sequence[Callable[[Any], Any] | None]) -> Iterator[Any]:
    for value, change in zip(row, changes, strict=True):
        yield value if change is None else change(value)


def _as_truth(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _set_sequence(connection: Connection, table: Table) -> None:
    """Let the numbers that PostgreSQL draws go on after those that are there."""
    keys: list[Column[Any]] = list(table.primary_key.columns)
    if len(keys) != 1:
        return
    column = keys[0].name
    named = {"table": table.name, "column": column}
    sequence = connection.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), named).scalar_one()
    if sequence is not None:
        highest = f"(SELECT coalesce(max({column}), 0) + 1 FROM {table.name})"
        connection.execute(text(f"SELECT setval(:sequence, {highest}, false)"), {"sequence": sequence})
