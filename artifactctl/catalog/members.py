"""Members of artifacts: a million rows and more, in and out as streams.

A member is stored as (folder, name): the folder's path once, the row below 96 bytes. Reading yields `member_order`,
the order of a depth-first walk, by merging each folder's files with its sub-folders; no sort, bounded memory.
Many members are listed in short transactions (`list_members`) and adopted by the artifact in one.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from artifactctl.catalog import member_waste
from artifactctl.catalog.bulk import insert_rows, placeholder
from artifactctl.catalog.failures import StateChanged, UnknownObject
from artifactctl.catalog.schema_artifacts import artifact, member_list, shard_directory
from artifactctl.catalog.transaction import Transaction

Member: TypeAlias = tuple[bytes, str, int, int | None]
"""(path relative to the artifact, `f` file / `l` link / `o` other, size in bytes, tokens or None)."""

TYPE_LETTERS = "flo"
"""Types are stored as positions in this: 0 and 1 take no byte of their own."""

_TYPE_NUMBERS = {letter: number for number, letter in enumerate(TYPE_LETTERS)}
_ROWS_PER_BATCH = 10_000
_T = TypeVar("_T")


def set_members(writing: Transaction, artifact_id: int, listing: Iterable[Member]) -> None:
    """Replace an artifact's members within the caller's transaction."""
    connection = writing.connection
    list_id = _begin_list(connection, writing.now)
    folders: dict[bytes, int] = {}
    count = 0
    for batch in _batches(listing):
        count += _fill(connection, list_id, batch, folders)
    _complete(connection, list_id, count)
    replaced = _list_of(connection, artifact_id)
    adopt(writing, artifact_id, list_id)
    if replaced is not None:
        member_waste.drop_list(connection, replaced)


def list_members(engine: Engine, listing: Iterable[Member], now: datetime) -> int:
    """Store a list of members, a batch a transaction; return its number. Old waste is cleared first."""
    member_waste.clear(engine, now)
    with engine.begin() as connection:
        list_id = _begin_list(connection, now)
    folders: dict[bytes, int] = {}
    count = 0
    for batch in _batches(listing):
        with engine.begin() as connection:
            count += _fill(connection, list_id, batch, folders)
    with engine.begin() as connection:
        _complete(connection, list_id, count)
    return list_id


def adopt(writing: Transaction, artifact_id: int, list_id: int) -> None:
    """Point an artifact at a complete list."""
    count = writing.connection.execute(
        select(member_list.c.members).where(member_list.c.id == list_id)
    ).scalar_one_or_none()
    if count is None:
        raise StateChanged(f"the list {list_id} of members is not complete", remedy="scan again")
    changed = writing.connection.execute(
        update(artifact).where(artifact.c.id == artifact_id).values(member_list_id=list_id)
    )
    if not changed.rowcount:
        raise UnknownObject(f"there is no artifact with the number {artifact_id}")


def set_digests(connection: Connection, artifact_id: int, digests: Iterable[tuple[bytes, bytes]]) -> int:
    """Record digests of catalogued members; return how many paths were ones."""
    list_id = _list_of(connection, artifact_id)
    if list_id is None:
        return 0
    folders = folders_of(connection, list_id)
    mark = placeholder(connection)
    statement = f"UPDATE shard SET digest = {mark} WHERE directory_id = {mark} AND name = {mark}"
    updated = 0
    for batch in _batches(digests):
        values = []
        for relative, digest in batch:
            folder, _, name = relative.rpartition(b"/")
            if folder in folders:
                values.append((digest, folders[folder], name))
        if values:
            updated += connection.exec_driver_sql(statement, values).rowcount
    return updated


def folders_of(connection: Connection, list_id: int) -> dict[bytes, int]:
    """Return the number of each folder that directly holds members, by its path."""
    statement = select(shard_directory.c.relative, shard_directory.c.id).where(shard_directory.c.list_id == list_id)
    return {relative: number for relative, number in connection.execute(statement)}


def _begin_list(connection: Connection, now: datetime) -> int:
    statement = insert(member_list).values(begun_at=now).returning(member_list.c.id)
    return int(connection.execute(statement).scalar_one())


def _complete(connection: Connection, list_id: int, count: int) -> None:
    connection.execute(update(member_list).where(member_list.c.id == list_id).values(members=count))


def _list_of(connection: Connection, artifact_id: int) -> int | None:
    statement = select(artifact.c.member_list_id).where(artifact.c.id == artifact_id)
    return connection.execute(statement).scalar_one_or_none()


def _fill(connection: Connection, list_id: int, batch: list[Member], folders: dict[bytes, int]) -> int:
    """Insert members; `folders` learns the folders that are new. Only one writer at a time can draw numbers."""
    following = (connection.execute(select(func.max(shard_directory.c.id))).scalar_one() or 0) + 1
    new_folders = []
    rows = []
    for relative, letter, size_bytes, tokens in batch:
        folder, _, name = relative.rpartition(b"/")
        number = folders.get(folder)
        if number is None:
            number = folders[folder] = following
            following += 1
            new_folders.append((number, list_id, folder))
        rows.append((number, name, _TYPE_NUMBERS[letter], size_bytes, tokens))
    insert_rows(connection, "shard_directory", ("id", "list_id", "relative"), new_folders)
    try:
        insert_rows(connection, "shard", ("directory_id", "name", "type", "size_bytes", "tokens"), rows)
    except IntegrityError as error:
        raise ValueError("a member was listed twice") from error
    return len(rows)


def _batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _ROWS_PER_BATCH)):
        yield batch
