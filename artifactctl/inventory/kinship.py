"""What the lineage says about a removal: who depends on it, how it could be built again, what replaces it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, LineageRole, Replica, ReplicaState, RunState
from artifactctl.domain.ingredients import INGREDIENTS, INPUT_ROLES, names_its_ingredients
from artifactctl.guards.candidate import Dependent, Recipe, RecipeInput, RemovedChild, Successor

_ENDED = frozenset({ReplicaState.GONE})
_COUNTS = frozenset({ReplicaState.LIVE})


def counts(replica: Replica) -> bool:
    """Whether a replica can be somebody's copy, successor or input: live, and below a root that is still managed."""
    return replica.state in _COUNTS and replica.root.is_managed


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Which fingerprints were seen on disk just now, by replica id: of those that are whole as the catalog has them.

    A verification counts only while the content is what was verified, an input only while it is there; the catalog's
    own record makes neither true by itself. `doubts` say who could be writing, or why that is not known (the machine it
    lies on does not answer): what is in doubt counts as verified for nobody, and what nobody could look at, or
    somebody was seen writing to, has no fingerprint here at all. `archives` are the copies in object stores, by number,
    whose objects are all there as when they were verified; `archive_doubts` say why another one is not among them.
    """

    fingerprints: Mapping[int, str]
    doubts: Mapping[int, str] = field(default_factory=dict)
    archives: frozenset[int] = frozenset()
    archive_doubts: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def as_recorded(cls, replicas: Iterable[Replica]) -> "Freshness":
        """Return what the catalog believes, for answers that do not look and on which nothing is removed."""
        return cls(fingerprints={r.replica_id: r.fingerprint for r in replicas if counts(r)})

    def is_there(self, replica: Replica) -> bool:
        """Whether the replica counts and lies on disk just now, with every member the catalog knows."""
        return counts(replica) and replica.replica_id in self.fingerprints

    def doubt(self, replicas: Iterable[Replica]) -> str:
        """Return why the first of the replicas that are in doubt proves nothing, "" when none is."""
        return next((self.doubts[r.replica_id] for r in replicas if r.replica_id in self.doubts), "")

    def doubted(self, replicas: Iterable[Replica]) -> tuple[str, ...]:
        """Return why those of the replicas prove nothing that are live and were verified once."""
        return tuple(self.doubts[r.replica_id] for r in replicas if r.state in _COUNTS and r.replica_id in self.doubts)

    def is_verified(self, replica: Replica) -> bool:
        """Whether the replica counts and passed `verify` on exactly what lies there now."""
        if not counts(replica) or replica.verified_level is None or not replica.verified_fingerprint:
            return False
        if replica.replica_id in self.doubts:
            return False
        return self.fingerprints.get(replica.replica_id) == replica.verified_fingerprint


def proofs_to_look_at(reading: Reading, artifact: Artifact, replica: Replica) -> tuple[Replica, ...]:
    """Return the replicas whose fresh look a decision about `replica` rests on.

    Copies, successor, children, what supersedes children that were removed, and inputs.
    """
    wanted = [r for r in artifact.replicas if r.replica_id != replica.replica_id]
    if artifact.superseded_by is not None:
        successor = reading.artifact(artifact.superseded_by)
        wanted += list(successor.replicas) if successor is not None else []
    for edge in reading.children(artifact.artifact_id):
        child = reading.artifact_by_id(edge.child_id)
        wanted += list(child.replicas) if child is not None else []
    for removed in _removed_children(reading, artifact):
        wanted += [r for heir in _heirs(reading, removed) for r in heir.replicas]
    unique = {r.replica_id: r for r in wanted if r.state in _COUNTS and r.verified_level is not None}
    for edge in reading.parents(artifact.artifact_id):
        parent = reading.artifact_by_id(edge.parent_id) if edge.role in INPUT_ROLES else None
        if parent is not None:
            unique.update({r.replica_id: r for r in parent.replicas if r.state in _COUNTS})
    return tuple(unique.values())


def dependents_of(reading: Reading, artifact: Artifact, *, fresh: Freshness, now: datetime) -> tuple[Dependent, ...]:
    """Return every child. A child in quarantine still needs what it needs: it may be restored."""
    found = []
    for edge in reading.children(artifact.artifact_id):
        child = reading.artifact_by_id(edge.child_id)
        if child is None or child.artifact_id == artifact.artifact_id:
            continue
        ids = (child.artifact_id,)
        states = {r.state for r in child.replicas}
        needs_bytes = bool(states - _ENDED) if edge.role.needs_parent else child.is_live
        found.append(
            Dependent(
                name=child.name,
                kind=child.kind,
                role=edge.role,
                living=needs_bytes,
                finished=_is_finished(reading, child),
                verified=any(fresh.is_verified(r) for r in child.replicas),
                doubt=fresh.doubt(child.replicas),
                leased=bool(reading.leases(now, artifact_ids=ids)),
                held=bool(reading.holds(artifact_ids=ids)),
            )
        )
    return tuple(found)


def _is_finished(reading: Reading, child: Artifact) -> bool:
    if any(r.state is ReplicaState.BUILDING for r in child.replicas):
        return False
    runs = [run for run in reading.runs(artifact_id=child.artifact_id) if child.artifact_id in run.outputs]
    return not any(run.state is RunState.RUNNING for run in runs)


def recipe_of(reading: Reading, artifact: Artifact, *, fresh: Freshness) -> Recipe | None:
    """Return how to build the artifact again, None when its kind has no recipe or no input is recorded."""
    ingredients = INGREDIENTS.get(artifact.kind)
    if ingredients is None:
        return None
    inputs, kinds = [], set()
    for edge in reading.parents(artifact.artifact_id):
        parent = reading.artifact_by_id(edge.parent_id)
        if parent is None or edge.role not in INPUT_ROLES:
            continue
        kinds.add(parent.kind)
        living = any(fresh.is_there(r) for r in parent.replicas)
        inputs.append(
            RecipeInput(
                name=parent.name, role=edge.role, living=living, in_same_plan=False, doubt=fresh.doubt(parent.replicas)
            )
        )
    if not inputs:
        return None
    complete = names_its_ingredients(artifact.kind, kinds)
    missing = () if complete else (" or ".join(kind.value for kind in ingredients),)
    return Recipe(inputs=tuple(inputs), complete=complete, missing_kinds=missing)


def successor_of(reading: Reading, artifact: Artifact, *, fresh: Freshness) -> Successor | None:
    """Return the artifact that supersedes this one."""
    if artifact.superseded_by is None:
        return None
    successor = reading.artifact(artifact.superseded_by)
    if successor is None:
        return Successor(name=artifact.superseded_by, kind=None, living=False, verified=False, in_same_plan=False)
    return Successor(
        name=successor.name,
        kind=successor.kind,
        living=any(counts(r) for r in successor.replicas),
        verified=any(fresh.is_verified(r) for r in successor.replicas),
        in_same_plan=False,
        since=_last_said(reading, artifact, successor),
        doubt=fresh.doubt(successor.replicas),
    )


def _last_said(reading: Reading, artifact: Artifact, successor: Artifact) -> datetime | None:
    """Return when it was said last that the one takes the place of the other."""
    said = (
        edge.recorded_at
        for edge in reading.children(artifact.artifact_id)
        if edge.child_id == successor.artifact_id and edge.role is LineageRole.SUPERSEDES
    )
    return next(said, None)


def removed_children_of(reading: Reading, artifact: Artifact, *, fresh: Freshness) -> tuple[RemovedChild, ...]:
    """Return what has no live copy and would need this one to be built again (invariant I8).

    It is replaced by a successor only when that one was seen on disk just now as it was verified.
    """
    found = {}
    for child in _removed_children(reading, artifact):
        proven = (s.name for s in _heirs(reading, child) if any(fresh.is_verified(r) for r in s.replicas))
        found[child.name] = RemovedChild(name=child.name, replaced_by=next(proven, ""))
    return tuple(found[name] for name in sorted(found))


def _removed_children(reading: Reading, artifact: Artifact) -> Iterator[Artifact]:
    for edge in reading.children(artifact.artifact_id):
        child = reading.artifact_by_id(edge.child_id) if edge.role in INPUT_ROLES else None
        if child is not None and child.replicas and not _is_kept(child):
            yield child


def _is_kept(artifact: Artifact) -> bool:
    """Whether a copy is left, or being made, below a root that is managed."""
    return any(counts(r) or (r.state is ReplicaState.BUILDING and r.root.is_managed) for r in artifact.replicas)


def _heirs(reading: Reading, artifact: Artifact) -> Iterator[Artifact]:
    """Yield what supersedes it, what supersedes that, and so on."""
    met = {artifact.name}
    name = artifact.superseded_by
    while name is not None and name not in met:
        met.add(name)
        heir = reading.artifact(name)
        if heir is None:
            return
        yield heir
        name = heir.superseded_by
