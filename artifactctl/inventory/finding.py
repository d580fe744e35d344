"""From the word a person typed to the artifact it means: its name, or the path it is at."""

import os
from collections.abc import Sequence

from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState, Root
from artifactctl.domain.identity import ManagedPath


def find_artifact(reading: Reading, word: str, *, here: bytes) -> Artifact:
    """Return the artifact with this name, else the one at this path (relative ones start at `here`).

    UnknownObject, with the nearest names, when there is neither: a word that matches nothing is never an empty success.
    """
    found = reading.artifact(word) or _at_path(reading, word, here)
    if found is not None:
        return found
    near = reading.names_like(word, limit=5)
    remedy = f"did you mean `{near[0]}`?" if near else "`artifactctl ls` lists the names"
    raise UnknownObject(f"the catalog knows no artifact `{word}`, by name or by path", remedy=remedy)


def find_artifacts(reading: Reading, words: Sequence[str], *, here: bytes) -> tuple[Artifact, ...]:
    """Return the artifacts that the words mean, each once, in the order of the words."""
    found = [find_artifact(reading, word, here=here) for word in words]
    return tuple({artifact.artifact_id: artifact for artifact in found}.values())


def absolute(word: str, *, here: bytes) -> bytes:
    """Return the word as an absolute path in normal form; no link is followed."""
    return os.path.normpath(os.path.join(here, os.fsencode(word)))


def roots_above(roots: Sequence[Root], path: bytes) -> list[tuple[Root, bytes]]:
    """Return (root, path below it) for every root that the absolute path lies strictly below, innermost first."""
    found = []
    for root in roots:
        try:
            found.append((root, ManagedPath.within(root.path, path).relative))
        except ValueError:
            continue
    return sorted(found, key=lambda pair: len(pair[0].path), reverse=True)


def _at_path(reading: Reading, word: str, here: bytes) -> Artifact | None:
    path = absolute(word, here=here)
    for root, relative in roots_above(reading.roots(), path):
        found = reading.artifact_at(root.root_id, relative) or reading.artifact_at(
            root.root_id, relative, states=tuple(ReplicaState)
        )
        if found is not None:
            return found
    return None
