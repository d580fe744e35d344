"""Changes to artifacts and to what is known about them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import insert, update

from artifactctl.catalog import artifact_queries
from artifactctl.catalog.failures import NameTaken
from artifactctl.catalog.schema_artifacts import artifact, measurement
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.domain.errors import UsageError

Pairs: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
"""Labels or details: keys with their values."""

_LONGEST_NAME = 255


def as_pairs(given: Pairs) -> list[list[str]]:
    """Return pairs as they are stored, by key; of two values of a key the last one counts."""
    return [[key, value] for key, value in sorted(dict(given).items())]


def check_name(name: str) -> None:
    """Raise UsageError unless `name` can name an artifact."""
    problem = ""
    if not 1 <= len(name) <= _LONGEST_NAME:
        problem = f"has {len(name)} characters; 1 to {_LONGEST_NAME} are possible"
    elif name.startswith("-"):
        problem = "begins with a dash"
    elif ":" in name:
        problem = "holds a colon"
    elif any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in name):
        problem = "holds a control character"
    if problem:
        raise UsageError(f"{name!r} cannot name an artifact: it {problem}", remedy="give it another name with --name")


def add_artifact(writing: Transaction, name: str, facts: Mapping[str, Any]) -> Artifact:
    """Record an artifact under a free name."""
    check_name(name)
    _free_name(writing, name)
    statement = insert(artifact).values(name=name, name_passed_on=0, **facts).returning(artifact.c.id)
    return artifact_queries.require(writing.connection, writing.connection.execute(statement).scalar_one())


def update_artifact(writing: Transaction, artifact_id: int, name: str | None, changes: Mapping[str, Any]) -> Artifact:
    """Change facts of an artifact, its name among them."""
    known = artifact_queries.require(writing.connection, artifact_id)
    changes = dict(changes)
    if name is not None and name != known.name:
        check_name(name)
        _free_name(writing, name)
        changes["name"] = name
    if changes:
        writing.connection.execute(update(artifact).where(artifact.c.id == artifact_id).values(**changes))
    return artifact_queries.require(writing.connection, artifact_id)


def add_measurement(
    writing: Transaction, artifact_id: int, metric: str, value: float, source: str, measured_at: datetime
) -> None:
    """Record a number about an artifact."""
    artifact_queries.require(writing.connection, artifact_id)
    writing.connection.execute(
        insert(measurement).values(
            artifact_id=artifact_id, metric=metric, value=value, source=source, measured_at=measured_at
        )
    )


def _free_name(writing: Transaction, name: str) -> None:
    """Make a tombstone pass its name on; NameTaken when the bearer is not gone for good."""
    bearer = artifact_queries.by_name(writing.connection, name)
    if bearer is None:
        return
    if not bearer.replicas or any(copy.state is not ReplicaState.GONE for copy in bearer.replicas):
        raise NameTaken(f"there is an artifact named {name} already", remedy=f"artifactctl show {name}")
    writing.connection.execute(
        update(artifact).where(artifact.c.id == bearer.artifact_id).values(name_passed_on=bearer.artifact_id)
    )
