"""From the words a person typed to what should be reclaimed: names, paths, roots."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl.catalog import Reading
from artifactctl.catalog.artifact_queries import BYTES_AT_PATH
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import display_path
from artifactctl.inventory.finding import absolute, find_artifact, roots_above
from artifactctl.reclaim.preparing import live_replica
from artifactctl.reclaim.survey import target_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the words mean. `unregistered` are absolute paths that exist and that nobody registered."""

    chosen: tuple[tuple[Artifact, Replica], ...]
    scope: tuple[Root, ...]
    unregistered: tuple[bytes, ...]


def targets_of(reading: Reading, words: Sequence[str], *, here: bytes, exists: Sequence[bytes]) -> Targets:
    """Return what `words` mean; `exists` are those of their absolute paths at which something stands.

    A root's name or path limits what the policy may offer; it never means "everything in it".
    """
    chosen: dict[int, tuple[Artifact, Replica]] = {}
    scope: list[Root] = []
    unregistered: list[bytes] = []
    for word in words:
        path = absolute(word, here=here)
        root = next((r for r in reading.roots() if word == r.name or path == r.path), None)
        try:
            artifact = find_artifact(reading, word, here=here)
        except UnknownObject:
            if root is not None:
                scope.append(root)
            elif path in exists:
                _refuse_part_or_whole(reading, path)
                unregistered.append(path)
            else:
                raise
        else:
            if path in exists and _is_of_the_past(artifact, word, path):
                unregistered.append(path)
                continue
            replica = _replica_meant(artifact, path) or live_replica(artifact)
            chosen[replica.replica_id] = (artifact, replica)
    if scope and (chosen or unregistered):
        raise UsageError(
            f"`{scope[0].name}` is a root and the other words are artifacts",
            remedy="name artifacts, or roots alone to choose among what the policy offers there",
        )
    return Targets(chosen=tuple(chosen.values()), scope=tuple(scope), unregistered=tuple(unregistered))


def _is_of_the_past(artifact: Artifact, word: str, path: bytes) -> bool:
    """Whether the artifact only once had the path that was typed: what stands there now is something else."""
    there = [r.state for r in artifact.replicas if target_of(r).absolute == path]
    return word != artifact.name and bool(there) and not any(state in BYTES_AT_PATH for state in there)


def _replica_meant(artifact: Artifact, path: bytes) -> Replica | None:
    """Return the live copy that lies exactly at `path`."""
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    return next((r for r in live if target_of(r).absolute == path), None)


def _refuse_part_or_whole(reading: Reading, path: bytes) -> None:
    """A folder inside an artifact, or around several, is no artifact: say which ones are meant."""
    for root, relative in roots_above(reading.roots(), path):
        above = reading.artifacts_above(root.root_id, relative)
        if above:
            raise UsageError(
                f"{display_path(path)} is a part of {above[0].name}",
                remedy=f"reclaim the whole artifact: `artifactctl reclaim {above[0].name}`",
            )
        below = reading.artifacts_below(root.root_id, relative)
        if below:
            names = ", ".join(item.name for item in below[:5])
            raise UsageError(
                f"{display_path(path)} is no artifact; {len(below)} lie below it: {names}",
                remedy="name the ones that should go",
            )
