"""Questions about artifacts, their copies, and what was measured and verified."""

import difflib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select, true

from artifactctl.catalog import mapping, place_queries
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.schema_artifacts import artifact, measurement, observation, replica, verification
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica, ReplicaState
from artifactctl.domain.ledger import Measurement, Sighting, Verification

BYTES_AT_PATH = (
    ReplicaState.BUILDING,
    ReplicaState.LIVE,
    ReplicaState.QUARANTINING,
    ReplicaState.RESTORING,
    ReplicaState.MISSING,
)
"""States in which the path is the replica's place; `missing` included, since its bytes may turn up there again."""

PRESENT = tuple(state for state in BYTES_AT_PATH if state is not ReplicaState.MISSING)
"""States in which the bytes are at the path."""

_BATCH = 500
_SIMILAR = 0.6
_T = TypeVar("_T")

_successor = artifact.alias("successor")
_artifacts = select(artifact, _successor.c.name.label("superseded_by")).select_from(
    artifact.outerjoin(_successor, artifact.c.superseded_by_id == _successor.c.id)
)
_holds_its_name = artifact.c.name_passed_on == 0


def artifacts(
    connection: Connection,
    *,
    kind: ArtifactKind | None,
    state: ReplicaState | None,
    names: Collection[str] | None,
    numbers: Collection[int] | None,
) -> tuple[Artifact, ...]:
    """Return artifacts by name; see `Reading.artifacts`."""
    conditions: list[ColumnElement[bool]] = []
    if kind is not None:
        conditions.append(artifact.c.kind == kind.value)
    if state is not None:
        conditions.append(artifact.c.id.in_(select(replica.c.artifact_id).where(replica.c.state == state.value)))
    if numbers is not None:
        of_numbers = [
            _load(connection, and_(artifact.c.id.in_(batch), *conditions)) for batch in _batches(sorted(set(numbers)))
        ]
        return tuple(sorted(chain.from_iterable(of_numbers), key=lambda item: (item.name, item.artifact_id)))
    if names is None:
        return _load(connection, and_(true(), *conditions))
    found: list[Artifact] = []
    for batch in _batches(sorted(set(names))):
        found.extend(_load(connection, and_(artifact.c.name.in_(batch), _holds_its_name, *conditions)))
    return tuple(found)


def by_name(connection: Connection, name: str) -> Artifact | None:
    """Return the artifact that has the name now."""
    return _only(_load(connection, and_(artifact.c.name == name, _holds_its_name)))


def by_id(connection: Connection, artifact_id: int) -> Artifact | None:
    """Return one artifact."""
    return _only(_load(connection, artifact.c.id == artifact_id))


def require(connection: Connection, artifact_id: int) -> Artifact:
    """Return one artifact; UnknownObject when there is none."""
    found = by_id(connection, artifact_id)
    if found is None:
        raise UnknownObject(f"there is no artifact with the number {artifact_id}", remedy="artifactctl ls")
    return found


def named_ever(connection: Connection, name: str) -> tuple[Artifact, ...]:
    """Return every artifact that ever had the name, newest first."""
    found = _load(connection, artifact.c.name == name)
    return tuple(sorted(found, key=lambda item: item.artifact_id, reverse=True))


def at_path(connection: Connection, root_id: str, relative: bytes, states: Collection[ReplicaState]) -> Artifact | None:
    """Return the artifact with a replica at the path in one of the states; the live one, else the newest."""
    is_live = case((replica.c.state.in_((ReplicaState.LIVE.value, ReplicaState.BUILDING.value)), 0), else_=1)
    statement = (
        select(replica.c.artifact_id)
        .where(replica.c.root_id == root_id, replica.c.relative == relative, _in(states))
        .order_by(is_live, replica.c.id.desc())
        .limit(1)
    )
    found = connection.execute(statement).scalar_one_or_none()
    return None if found is None else by_id(connection, found)


def below(connection: Connection, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
    """Return artifacts with bytes strictly below the path."""
    condition = and_(replica.c.root_id == root_id, _in(PRESENT))
    if relative:
        # b"0" follows b"/": the half-open range holds exactly what begins with the path and a slash.
        condition = and_(condition, replica.c.relative >= relative + b"/", replica.c.relative < relative + b"0")
    return _load(connection, artifact.c.id.in_(select(replica.c.artifact_id).where(condition)))


def above(connection: Connection, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
    """Return artifacts with bytes strictly above the path, outermost first."""
    parts = relative.split(b"/")
    folders = [b"/".join(parts[:depth]) for depth in range(1, len(parts))]
    found: list[Artifact] = []
    for batch in _batches(folders):
        statement = (
            select(replica.c.artifact_id)
            .where(replica.c.root_id == root_id, replica.c.relative.in_(batch), _in(PRESENT))
            .order_by(func.length(replica.c.relative))
        )
        ids = connection.execute(statement).scalars().all()
        loaded = {item.artifact_id: item for item in _load(connection, artifact.c.id.in_(ids))}
        found.extend(loaded[artifact_id] for artifact_id in dict.fromkeys(ids))
    return tuple(found)


def replica_by_id(connection: Connection, replica_id: int) -> Replica | None:
    """Return one replica."""
    row = connection.execute(select(replica).where(replica.c.id == replica_id)).one_or_none()
    if row is None:
        return None
    return mapping.to_replica(row, place_queries.roots_ever(connection)[row.root_id])


def names_like(connection: Connection, text: str, limit: int) -> tuple[str, ...]:
    """Return names that begin with the text, then those that contain it; if there are none, similar ones."""
    names = select(artifact.c.name).where(_holds_its_name).order_by(artifact.c.name)
    begin = names.where(artifact.c.name.startswith(text, autoescape=True)).limit(limit)
    found = list(connection.execute(begin).scalars())
    if len(found) < limit:
        inside = names.where(artifact.c.name.contains(text, autoescape=True)).limit(limit)
        found.extend(name for name in connection.execute(inside).scalars() if name not in found)
    return tuple(found[:limit]) or _similar(text, connection.execute(names).scalars().all(), limit)


def _similar(text: str, names: Sequence[str], limit: int) -> tuple[str, ...]:
    """Return the nearest names; people leave out the root and the folders in front, so the ends are compared too."""
    spellings: dict[str, list[str]] = defaultdict(list)
    for name in names:
        for spelling in {name, name.partition("/")[2] or name, name.rpartition("/")[2]}:
            spellings[spelling].append(name)
    near = difflib.get_close_matches(text, spellings, n=limit, cutoff=_SIMILAR)
    return tuple(dict.fromkeys(name for spelling in near for name in spellings[spelling]))[:limit]


def measurements(connection: Connection, artifact_id: int) -> tuple[Measurement, ...]:
    """Return what was measured about an artifact, oldest first."""
    statement = (
        select(measurement)
        .where(measurement.c.artifact_id == artifact_id)
        .order_by(measurement.c.measured_at, measurement.c.id)
    )
    return _mapped(connection, statement, mapping.to_measurement)


def all_measurements(connection: Connection) -> Iterator[Measurement]:
    """Yield what was measured about every artifact, by artifact number and oldest first."""
    statement = select(measurement).order_by(measurement.c.artifact_id, measurement.c.measured_at, measurement.c.id)
    yield from map(mapping.to_measurement, connection.execute(statement))


def verifications(connection: Connection, replica_id: int) -> tuple[Verification, ...]:
    """Return the verifications of a replica, oldest first."""
    statement = select(verification).where(verification.c.replica_id == replica_id).order_by(verification.c.id)
    return _mapped(connection, statement, mapping.to_verification)


def sightings(connection: Connection, replica_id: int, limit: int) -> tuple[Sighting, ...]:
    """Return the newest recorded observations of a replica, newest first."""
    statement = select(observation).where(observation.c.replica_id == replica_id)
    return _mapped(connection, statement.order_by(observation.c.id.desc()).limit(limit), mapping.to_sighting)


def _load(connection: Connection, condition: ColumnElement[bool]) -> tuple[Artifact, ...]:
    rows = connection.execute(_artifacts.where(condition).order_by(artifact.c.name, artifact.c.id)).all()
    if not rows:
        return ()
    chosen = select(artifact.c.id).where(condition)
    copies = _replicas(connection, replica.c.artifact_id.in_(chosen))
    metrics = _metrics(connection, measurement.c.artifact_id.in_(chosen))
    return tuple(mapping.to_artifact(row, copies[row.id], metrics[row.id]) for row in rows)


def _replicas(connection: Connection, condition: ColumnElement[bool]) -> dict[int, list[Replica]]:
    roots = place_queries.roots_ever(connection)
    found: dict[int, list[Replica]] = defaultdict(list)
    for row in connection.execute(select(replica).where(condition).order_by(replica.c.id)):
        found[row.artifact_id].append(mapping.to_replica(row, roots[row.root_id]))
    return found


def _metrics(connection: Connection, condition: ColumnElement[bool]) -> dict[int, dict[str, float]]:
    statement = (
        select(measurement.c.artifact_id, measurement.c.metric, measurement.c.value)
        .where(condition)
        .order_by(measurement.c.measured_at, measurement.c.id)
    )
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for artifact_id, metric, value in connection.execute(statement):
        found[artifact_id][metric] = value
    return found


def _in(states: Collection[ReplicaState]) -> ColumnElement[bool]:
    return replica.c.state.in_(sorted(state.value for state in states))


def _only(found: Sequence[Artifact]) -> Artifact | None:
    return found[0] if found else None


def _batches(items: Sequence[_T]) -> list[Sequence[_T]]:
    return [items[start : start + _BATCH] for start in range(0, len(items), _BATCH)]


def _mapped(connection: Connection, statement: Select[Any], to_value: Callable[[Any], _T]) -> tuple[_T, ...]:
    return tuple(to_value(row) for row in connection.execute(statement))
