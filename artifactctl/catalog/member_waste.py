"""Lists of members that no artifact points to: replaced ones, and what interrupted scans left behind."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, delete, exists, select, update

from artifactctl.catalog.schema_artifacts import artifact, member_list, shard, shard_directory

_MAY_BE_IN_THE_MAKING = timedelta(days=1)
_ROWS_PER_TRANSACTION = 5_000
_FOLDERS_PER_TRANSACTION = 200


def clear(engine: Engine, now: datetime) -> None:
    """Remove lists that nobody uses and that nobody can still be filling, in short transactions."""
    with engine.begin() as connection:
        waste = _claim(connection, before=now - _MAY_BE_IN_THE_MAKING)
    for list_id in waste:
        while True:
            with engine.begin() as connection:
                if not _shrink(connection, list_id):
                    break


def drop_list(connection: Connection, list_id: int) -> None:
    """Remove one list within the caller's transaction."""
    folders = select(shard_directory.c.id).where(shard_directory.c.list_id == list_id)
    connection.execute(delete(shard).where(shard.c.directory_id.in_(folders)))
    connection.execute(delete(shard_directory).where(shard_directory.c.list_id == list_id))
    connection.execute(delete(member_list).where(member_list.c.id == list_id))


def _claim(connection: Connection, *, before: datetime) -> list[int]:
    """Make the lists incomplete, so that nobody can adopt one that is being removed."""
    unused = ~exists().where(artifact.c.member_list_id == member_list.c.id)
    claimed = update(member_list).where(member_list.c.begun_at < before, unused).values(members=None)
    return list(connection.execute(claimed.returning(member_list.c.id)).scalars())


def _shrink(connection: Connection, list_id: int) -> bool:
    """Remove some rows of a list, at last the list; return whether anything was left to do."""
    statement = select(shard_directory.c.id).where(shard_directory.c.list_id == list_id)
    folders = connection.execute(statement.limit(_FOLDERS_PER_TRANSACTION)).scalars().all()
    removed = 0
    for folder in folders:
        rows = shard.c.directory_id == folder
        limit = select(shard.c.name).where(rows).order_by(shard.c.name).limit(1).offset(_ROWS_PER_TRANSACTION)
        boundary = connection.execute(limit).scalar_one_or_none()
        if boundary is not None:
            connection.execute(delete(shard).where(rows, shard.c.name < boundary))
            return True
        removed += connection.execute(delete(shard).where(rows)).rowcount
        connection.execute(delete(shard_directory).where(shard_directory.c.id == folder))
        if removed >= _ROWS_PER_TRANSACTION:
            return True
    if not folders:
        connection.execute(delete(member_list).where(member_list.c.id == list_id))
    return bool(folders)
