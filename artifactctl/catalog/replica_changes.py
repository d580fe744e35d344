"""Changes to copies: where their bytes are, what they are, and how far they were verified."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, update

from artifactctl.catalog import artifact_queries
from artifactctl.catalog.failures import PathTaken, StateChanged, UnknownObject
from artifactctl.catalog.schema_artifacts import observation, replica, verification
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import Replica, ReplicaState, VerifyLevel
from artifactctl.domain.roles import Act
from artifactctl.domain.text import display_path

_OCCUPIES = (ReplicaState.BUILDING, ReplicaState.LIVE)
_SET_ASIDE = (
    ReplicaState.QUARANTINED,
    ReplicaState.RESTORING,
    ReplicaState.PURGING,
)
_TAKES_A_ROLE = {
    ReplicaState.QUARANTINING: Act.SET_ASIDE,
    ReplicaState.PURGING: Act.PURGE,
    ReplicaState.ARCHIVING: Act.COPY,
}
"""The states in which a removal or a copy begins; to bring one that has begun to its end takes no role."""


def add_replica(
    writing: Transaction,
    artifact_id: int,
    root_id: str,
    relative: bytes,
    state: ReplicaState,
    facts: Mapping[str, Any],
) -> Replica:
    """Record a copy at a path that nothing else lives at; RoleMissing for one that begins to be made."""
    if state in _TAKES_A_ROLE:
        writing.require(_TAKES_A_ROLE[state], about=artifact_queries.require(writing.connection, artifact_id).name)
    if state in _OCCUPIES:
        _refuse_taken_path(writing, root_id, relative)
    statement = insert(replica).values(
        artifact_id=artifact_id,
        root_id=root_id,
        relative=relative,
        state=state.value,
        generation=1,
        verified_fingerprint="",
        **facts,
    )
    return _existing(writing, writing.connection.execute(statement.returning(replica.c.id)).scalar_one())


def record_replica(writing: Transaction, replica_id: int, facts: Mapping[str, Any]) -> Replica:
    """Record what a copy is now."""
    writing.connection.execute(update(replica).where(replica.c.id == replica_id).values(**facts))
    return _existing(writing, replica_id)


def change_state(
    writing: Transaction,
    replica_id: int,
    *,
    expected: Collection[ReplicaState],
    to: ReplicaState,
    relative: bytes | None,
) -> None:
    """Compare and set the state; gone is final."""
    known = _existing(writing, replica_id)
    if to in _TAKES_A_ROLE:
        writing.require(_TAKES_A_ROLE[to], about=_shown(known))
    if known.state not in expected or known.state is ReplicaState.GONE:
        raise StateChanged(
            f"the copy at {_shown(known)} is {known.state}, not {' or '.join(sorted(expected))}",
            remedy="artifactctl doctor    (shows unfinished operations), then plan again",
        )
    changes: dict[str, Any] = {"state": to.value}
    if relative is not None:
        changes["relative"] = relative
    if to in _OCCUPIES:
        _refuse_taken_path(writing, known.root.root_id, relative or known.relative, but=replica_id)
    if to is ReplicaState.QUARANTINED or (to is ReplicaState.LIVE and known.state in _SET_ASIDE):
        changes["generation"] = known.generation + 1
    writing.connection.execute(
        update(replica).where(replica.c.id == replica_id, replica.c.state == known.state.value).values(**changes)
    )


def set_verified(
    writing: Transaction,
    replica_id: int,
    level: VerifyLevel,
    fingerprint: str,
    *,
    ok: bool,
    problems: Sequence[str],
    at: datetime,
) -> None:
    """Record a verification and what it means for the copy."""
    _existing(writing, replica_id)
    writing.connection.execute(
        insert(verification).values(
            replica_id=replica_id,
            level=level.value,
            ok=ok,
            problems=list(problems),
            fingerprint=fingerprint,
            verified_at=at,
        )
    )
    meaning: dict[str, Any] = {"verified_at": None, "verified_level": None, "verified_fingerprint": ""}
    if ok:
        meaning = {"verified_at": at, "verified_level": level.value, "verified_fingerprint": fingerprint}
    writing.connection.execute(update(replica).where(replica.c.id == replica_id).values(**meaning))


def record_sighting(writing: Transaction, replica_id: int, summary: Mapping[str, Any], observed_at: datetime) -> None:
    """Record what an observation came to."""
    _existing(writing, replica_id)
    writing.connection.execute(
        insert(observation).values(replica_id=replica_id, observed_at=observed_at, summary=dict(summary))
    )


def _refuse_taken_path(writing: Transaction, root_id: str, relative: bytes, *, but: int | None = None) -> None:
    found = artifact_queries.at_path(writing.connection, root_id, relative, _OCCUPIES)
    for copy in found.replicas if found else ():
        is_there = copy.root.root_id == root_id and copy.relative == relative and copy.state in _OCCUPIES
        if found and is_there and copy.replica_id != but:
            raise PathTaken(f"{_shown(copy)} is {found.name}", remedy=f"artifactctl show {found.name}")


def _existing(writing: Transaction, replica_id: int) -> Replica:
    found = artifact_queries.replica_by_id(writing.connection, replica_id)
    if found is None:
        raise UnknownObject(f"there is no replica with the number {replica_id}", remedy="artifactctl ls")
    return found


def _shown(copy: Replica) -> str:
    return display_path(copy.root.path + b"/" + copy.relative)
