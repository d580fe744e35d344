"""Questions about copies in object stores, and changes to them."""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, insert, select, update

from artifactctl.catalog import artifact_queries
from artifactctl.catalog.failures import StateChanged
from artifactctl.catalog.mapping import AnyRow
from artifactctl.catalog.schema_archives import archive_copy, archive_object
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.archives import ArchiveCopy, ArchivedObject
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.roles import Act


def archives(connection: Connection, artifact_ids: Collection[int] | None) -> tuple[ArchiveCopy, ...]:
    """Return the copies in object stores of these artifacts, None for all; oldest first."""
    statement = select(archive_copy).order_by(archive_copy.c.id)
    if artifact_ids is not None:
        statement = statement.where(archive_copy.c.artifact_id.in_(tuple(artifact_ids)))
    return tuple(_to_copy(row) for row in connection.execute(statement))


def objects(connection: Connection, archive_id: int) -> tuple[ArchivedObject, ...]:
    """Return the members of a copy that were read back, by number."""
    statement = select(archive_object).where(archive_object.c.archive_id == archive_id)
    return tuple(_to_object(row) for row in connection.execute(statement.order_by(archive_object.c.number)))


def begin(writing: Transaction, facts: dict[str, Any]) -> ArchiveCopy:
    """Record a copy that is about to be made; it counts for nothing yet. RoleMissing for who may make none."""
    writing.require(Act.COPY, about=artifact_queries.require(writing.connection, facts["artifact_id"]).name)
    values = {
        "state": ReplicaState.ARCHIVING.value,
        "stored_bytes": 0,
        "content_digest": "",
        "manifest": "",
        "fingerprint": "",
        "begun_at": writing.now,
        **facts,
    }
    row = writing.connection.execute(insert(archive_copy).values(values).returning(archive_copy)).one()
    return _to_copy(row)


def add_objects(writing: Transaction, archive_id: int, added: Iterable[ArchivedObject]) -> None:
    """Record members that were read back."""
    rows = [
        {
            "archive_id": archive_id,
            "number": item.number,
            "digest": item.digest,
            "stored_digest": item.stored_digest,
            "stored_bytes": item.stored_bytes,
        }
        for item in added
    ]
    if rows:
        writing.connection.execute(insert(archive_object), rows)


def change(
    writing: Transaction, archive_id: int, *, expected: ReplicaState, to: ReplicaState, facts: dict[str, Any]
) -> ArchiveCopy:
    """Compare and set the state, and record what is known of the copy now."""
    statement = (
        update(archive_copy)
        .where(archive_copy.c.id == archive_id, archive_copy.c.state == expected.value)
        .values(state=to.value, **facts)
        .returning(archive_copy)
    )
    row = writing.connection.execute(statement).one_or_none()
    if row is None:
        raise StateChanged(
            f"the archive {archive_id} is not {expected.value} any more", remedy="look with `artifactctl show NAME`"
        )
    return _to_copy(row)


def _to_copy(row: AnyRow) -> ArchiveCopy:
    return ArchiveCopy(
        archive_id=row.id,
        artifact_id=row.artifact_id,
        url=row.url,
        codec=row.codec,
        state=ReplicaState(row.state),
        files=row.files,
        size_bytes=row.size_bytes,
        stored_bytes=row.stored_bytes,
        source_fingerprint=row.source_fingerprint,
        content_digest=row.content_digest,
        manifest=row.manifest,
        fingerprint=row.fingerprint,
        begun_at=row.begun_at,
        verified_at=row.verified_at,
    )


def _to_object(row: AnyRow) -> ArchivedObject:
    return ArchivedObject(
        number=row.number, digest=row.digest, stored_digest=row.stored_digest, stored_bytes=row.stored_bytes
    )
