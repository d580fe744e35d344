"""From the words a person typed to what should be reclaimed: names, paths, roots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from artifactctl.catalog import Reading
from artifactctl.catalog.artifact_queries import BYTES_AT_PATH
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.inventory.finding import find_artifact, roots_above
from artifactctl.inventory.places import Here, Place, place_of, roots_at
from artifactctl.reclaim.preparing import live_replica
from artifactctl.reclaim.survey import target_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the words mean. `unregistered` are places that exist and that nobody registered."""

    chosen: tuple[tuple[Artifact, Replica], ...]
    scope: tuple[Root, ...]
    unregistered: tuple[Place, ...]

    def roots(self) -> tuple[Root, ...]:
        """Return the roots of what was named and is registered."""
        return (*self.scope, *(replica.root for _, replica in self.chosen))


def targets_of(reading: Reading, words: Sequence[str], *, here: Here, exists: Callable[[Place], bool]) -> Targets:
    """Return what `words` mean; `exists` says whether something stands at a place, and is asked only where it matters.

    A root's name or path limits what the policy may offer; it never means "everything in it".
    """
    chosen: dict[int, tuple[Artifact, Replica]] = {}
    scope: list[Root] = []
    unregistered: list[Place] = []
    for word in words:
        place = place_of(reading, word, here=here)
        there = roots_at(reading, place, here=here)
        root = reading.root(word) or next((r for r in there if place.path == r.path), None)
        try:
            artifact = find_artifact(reading, word, here=here)
        except UnknownObject:
            if root is not None:
                scope.append(root)
            elif exists(place):
                _refuse_part_or_whole(reading, place, there)
                unregistered.append(place)
            else:
                raise
        else:
            if _is_of_the_past(artifact, word, place, there) and exists(place):
                unregistered.append(place)
                continue
            replica = _replica_meant(artifact, place, there)
            if replica is None and reading.artifact(word) is None:
                raise _not_there(artifact, place, there)
            replica = replica or live_replica(artifact)
            chosen[replica.replica_id] = (artifact, replica)
    if scope and (chosen or unregistered):
        raise UsageError(
            f"`{scope[0].name}` is a root and the other words are artifacts",
            remedy="name artifacts, or roots alone to choose among what the policy offers there",
        )
    return Targets(chosen=tuple(chosen.values()), scope=tuple(scope), unregistered=tuple(unregistered))


def _is_of_the_past(artifact: Artifact, word: str, place: Place, roots: Sequence[Root]) -> bool:
    """Whether the artifact only once had the path that was typed: what stands there now is something else."""
    states = [r.state for r in artifact.replicas if _lies_at(r, place, roots)]
    return word != artifact.name and bool(states) and not any(state in BYTES_AT_PATH for state in states)


def _replica_meant(artifact: Artifact, place: Place, roots: Sequence[Root]) -> Replica | None:
    """Return the live copy that lies exactly there."""
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    return next((r for r in live if _lies_at(r, place, roots)), None)


def _not_there(artifact: Artifact, place: Place, roots: Sequence[Root]) -> Refused:
    """A path means the copy at that path: where it is gone, no other one may go in its stead."""
    states = ", ".join(sorted({r.state.value for r in artifact.replicas if _lies_at(r, place, roots)}))
    return Refused(
        f"nothing of {artifact.name} lies at {place.text} any more: that copy is {states or 'elsewhere'}",
        remedy=f"`artifactctl show {artifact.name}` lists its copies; name the one you mean by its path",
    )


def _lies_at(replica: Replica, place: Place, roots: Sequence[Root]) -> bool:
    return replica.root in roots and target_of(replica).absolute == place.path


def _refuse_part_or_whole(reading: Reading, place: Place, roots: Sequence[Root]) -> None:
    """A folder inside an artifact, or around several, is no artifact: say which ones are meant."""
    for root, relative in roots_above(roots, place.path):
        above = reading.artifacts_above(root.root_id, relative)
        if above:
            raise UsageError(
                f"{place.text} is a part of {above[0].name}",
                remedy=f"reclaim the whole artifact: `artifactctl reclaim {above[0].name}`",
            )
        below = reading.artifacts_below(root.root_id, relative)
        if below:
            names = ", ".join(item.name for item in below[:5])
            raise UsageError(
                f"{place.text} is no artifact; {len(below)} lie below it: {names}",
                remedy="name the ones that should go",
            )
