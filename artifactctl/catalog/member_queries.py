"""Members of artifacts as streams, and shards found by name."""

import heapq
from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, bindparam, select

from artifactctl.catalog.bulk import placeholder
from artifactctl.catalog.members import TYPE_LETTERS, folders_of
from artifactctl.catalog.schema_artifacts import artifact, member_list, shard, shard_directory
from artifactctl.domain.ledger import ShardLocation

_ROWS_PER_PAGE = 4_096
_NAME = itemgetter(0)
_COUNT = select(member_list.c.members).join(artifact, artifact.c.member_list_id == member_list.c.id)

SHARDS = (
    select(artifact.c.name, shard_directory.c.relative, shard.c.name, shard.c.size_bytes, shard.c.tokens)
    .select_from(shard_directory)
    .join(shard, shard.c.directory_id == shard_directory.c.id)
    .join(artifact, artifact.c.member_list_id == shard_directory.c.list_id)
    .where(shard.c.name == bindparam("file_name"))
    .order_by(artifact.c.name, shard_directory.c.relative)
)
"""Shards of one name: every folder is asked for it by its key, and folders are few where shards are many."""


def members(connection: Connection, artifact_id: int) -> Iterator[tuple[bytes, str, int]]:
    """Yield (relative path, type letter, size in bytes) in `member_order`."""
    for relative, (_, number, size_bytes) in _walk(connection, artifact_id, "type, size_bytes"):
        yield relative, TYPE_LETTERS[number], size_bytes


def digests(connection: Connection, artifact_id: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield (relative path, digest or None) in `member_order`."""
    for relative, (_, digest) in _walk(connection, artifact_id, "digest"):
        yield relative, digest


def listed_at(connection: Connection, artifact_id: int) -> datetime | None:
    """Return when the present list of members was begun, None when none were ever listed."""
    statement = select(member_list.c.begun_at).join(artifact, artifact.c.member_list_id == member_list.c.id)
    return connection.execute(statement.where(artifact.c.id == artifact_id)).scalar_one_or_none()


def count(connection: Connection, artifact_id: int) -> int | None:
    """Return the number of catalogued members, None when none were ever listed."""
    return connection.execute(_COUNT.where(artifact.c.id == artifact_id)).scalar_one_or_none()


def find(connection: Connection, name: str | bytes, limit: int) -> tuple[ShardLocation, ...]:
    """Return members whose path ends with the given components, by artifact and path."""
    wanted = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
    folder, _, file_name = wanted.rpartition(b"/")
    found: list[ShardLocation] = []
    for artifact_name, inside, shard_name, size_bytes, tokens in connection.execute(SHARDS, {"file_name": file_name}):
        if not folder or (b"/" + inside).endswith(b"/" + folder):
            found.append(
                ShardLocation(
                    artifact_name=artifact_name,
                    relative=_joined(inside, shard_name),
                    size_bytes=size_bytes,
                    tokens=tokens,
                )
            )
        if len(found) >= limit:
            break
    return tuple(found)


def _walk(connection: Connection, artifact_id: int, columns: str) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
    """Yield (path, (name, *columns)), each folder's content where the folder's own name stands."""
    list_id = connection.execute(
        select(artifact.c.member_list_id).where(artifact.c.id == artifact_id)
    ).scalar_one_or_none()
    if list_id is None:
        return
    numbers = folders_of(connection, list_id)
    subfolders = _subfolders(numbers)
    mark = placeholder(connection)
    statement = (
        f"SELECT name, {columns} FROM shard WHERE directory_id = {mark} AND name >= {mark}"
        f" ORDER BY name LIMIT {_ROWS_PER_PAGE}"
    )
    open_folders = [(b"", _entries(connection, statement, numbers.get(b""), subfolders.get(b"", [])))]
    while open_folders:
        folder, entries = open_folders[-1]
        for entry in entries:
            path = _joined(folder, entry[0])
            if len(entry) == 1:
                content = _entries(connection, statement, numbers.get(path), subfolders.get(path, []))
                open_folders.append((path, content))
                break
            yield path, entry
        else:
            open_folders.pop()


def _subfolders(folders: dict[bytes, int]) -> dict[bytes, list[bytes]]:
    """Return the names of the folders in each folder, those without own members included."""
    seen: set[bytes] = {b""}
    found: dict[bytes, list[bytes]] = {}
    for folder in folders:
        while folder not in seen:
            seen.add(folder)
            parent, _, name = folder.rpartition(b"/")
            found.setdefault(parent, []).append(name)
            folder = parent
    return found


def _entries(
    connection: Connection, statement: str, number: int | None, subfolders: list[bytes]
) -> Iterator[tuple[Any, ...]]:
    """Yield one folder's files as rows and its sub-folders as 1-tuples, in the order of their names."""
    files = iter(()) if number is None else _files(connection, statement, number)
    if not subfolders:
        return files
    return heapq.merge(files, ((name,) for name in sorted(subfolders)), key=_NAME)


def _files(connection: Connection, statement: str, number: int) -> Iterator[tuple[Any, ...]]:
    following = b""
    while True:
        rows = connection.exec_driver_sql(statement, (number, following)).all()
        yield from rows
        if len(rows) < _ROWS_PER_PAGE:
            return
        following = rows[-1][0] + b"\0"


def _joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name
