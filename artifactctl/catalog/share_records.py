"""Questions about divided work, and changes to it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from artifactctl.catalog.failures import LeaseLost
from artifactctl.catalog.mapping import AnyRow
from artifactctl.catalog.schema_shares import division, share
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.shares import Division, Share


def division_of(connection: Connection, artifact_id: int) -> Division | None:
    """Return how the making of an artifact is divided, None where it is not."""
    row = connection.execute(select(division).where(division.c.artifact_id == artifact_id)).one_or_none()
    if row is None:
        return None
    return Division(artifact_id=row.artifact_id, fingerprint=row.fingerprint, shares=row.shares, made_at=row.made_at)


def shares(connection: Connection, artifact_id: int) -> tuple[Share, ...]:
    """Return the shares of an artifact that were ever claimed, by number."""
    statement = select(share).where(share.c.artifact_id == artifact_id).order_by(share.c.number)
    return tuple(_to_share(row) for row in connection.execute(statement))


def divide(writing: Transaction, artifact_id: int, fingerprint: Mapping[str, str], count: int) -> None:
    """Record that the making of an artifact is divided."""
    writing.connection.execute(
        insert(division).values(
            artifact_id=artifact_id, fingerprint=dict(fingerprint), shares=count, made_at=writing.now
        )
    )


def claim(
    writing: Transaction, artifact_id: int, number: int, *, expires_at: datetime, holder: Mapping[str, Any]
) -> Share:
    """Give a share to somebody. The caller has seen in this transaction that nobody is at it."""
    known = select(share.c.fence).where(share.c.artifact_id == artifact_id, share.c.number == number)
    fence: int | None = writing.connection.execute(known).scalar_one_or_none()
    values = {**holder, "fence": (fence or 0) + 1, "claimed_at": writing.now, "expires_at": expires_at}
    if fence is None:
        nothing = {"records": 0, "tokens": 0, "size_bytes": 0, "rejected": {}}
        statement = insert(share).values(artifact_id=artifact_id, number=number, **nothing, **values)
        return _to_share(writing.connection.execute(statement.returning(share)).one())
    return _changed(writing, artifact_id, number, values)


def change_own(writing: Transaction, mine: Share, values: Mapping[str, Any]) -> Share:
    """Change a share that its holder still has; LeaseLost when somebody took it over, or it has ended."""
    return _changed(writing, mine.artifact_id, mine.number, values, fence=mine.fence, owner=mine.owner)


def reopen(writing: Transaction, mine: Share) -> bool:
    """Let a finished share be claimed again, if it is still the one that was looked at; return whether it was.

    The counts and reasons stay until somebody has made it again; its fence grows, so that nobody has it.
    """
    statement = update(share).where(
        share.c.artifact_id == mine.artifact_id,
        share.c.number == mine.number,
        share.c.fence == mine.fence,
        share.c.finished_at.is_not(None),
    )
    values = {"finished_at": None, "expires_at": writing.now, "owner": "", "fence": mine.fence + 1}
    return writing.connection.execute(statement.values(**values)).rowcount == 1


def _changed(
    writing: Transaction, artifact_id: int, number: int, values: Mapping[str, Any], **conditions: Any
) -> Share:
    statement = update(share).where(
        share.c.artifact_id == artifact_id, share.c.number == number, share.c.finished_at.is_(None)
    )
    for name, value in conditions.items():
        statement = statement.where(share.c[name] == value)
    row = writing.connection.execute(statement.values(**values).returning(share)).one_or_none()
    if row is None:
        raise LeaseLost(
            f"share {number} belongs to another worker by now", remedy="run the same command again: it takes another"
        )
    return _to_share(row)


def _to_share(row: AnyRow) -> Share:
    return Share(
        artifact_id=row.artifact_id,
        number=row.number,
        fence=row.fence,
        owner=row.owner,
        host=row.host,
        pid=row.pid,
        pid_started=row.pid_started,
        claimed_at=row.claimed_at,
        expires_at=row.expires_at,
        finished_at=row.finished_at,
        records=row.records,
        tokens=row.tokens,
        size_bytes=row.size_bytes,
        rejected={int(index): str(reason) for index, reason in row.rejected.items()},
    )
