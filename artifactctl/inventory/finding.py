"""From the word a person typed to the artifact it means: its name, or the path it is at."""

import os
from collections.abc import Sequence

from artifactctl.catalog.artifact_queries import BYTES_AT_PATH
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState, Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path, shell_word

_SAID_AS_A_PATH = ("/", "./", "../")


def find_artifact(reading: Reading, word: str, *, here: bytes) -> Artifact:
    """Return the artifact with this name, else the one at this path; the only way from a word to an artifact.

    A relative path starts at `here`, no link is followed. Where several artifacts had the path, the one whose bytes
    are there answers, else the last that was there: what is gone can still be asked about. UnknownObject with the
    nearest names when there is neither, since a word that matches nothing is never an empty success.
    """
    found = reading.artifact(word) or _at_path(reading, word, here) if word else None
    if found is None:
        raise _unknown(reading, word, here)
    return found


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
    above = roots_above(_nearest_machine_first(reading), absolute(word, here=here))
    for states in (BYTES_AT_PATH, tuple(ReplicaState)):
        for root, relative in above:
            found = reading.artifact_at(root.root_id, relative, states=states)
            if found is not None:
                return found
    return None


def _nearest_machine_first(reading: Reading) -> list[Root]:
    """Return the roots, those of machines without an address first: a path that is typed is a path of this machine."""
    elsewhere = {known.host_id for known in reading.hosts() if known.address}
    return sorted(reading.roots(), key=lambda root: root.host_id in elsewhere)


def _unknown(reading: Reading, word: str, here: bytes) -> UnknownObject:
    if word.startswith(_SAID_AS_A_PATH):
        path = absolute(word, here=here)
        return UnknownObject(
            f"no artifact is catalogued at {display_path(path)}", remedy=f"artifactctl scan {shell_word(path)}"
        )
    near = reading.names_like(word, limit=5) if word else ()
    remedy = f"did you mean `{near[0]}`?" if near else "`artifactctl ls` lists the names"
    return UnknownObject(f"the catalog knows no artifact `{word}`, by name or by path", remedy=remedy)
