"""From the word a person typed to the artifact it means: its name, or the path it is at."""

from collections.abc import Sequence

from artifactctl import audit
from artifactctl.catalog.artifact_queries import BYTES_AT_PATH
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.places import split_host
from artifactctl.domain.text import shell_word
from artifactctl.inventory.places import Here, Place, place_of, roots_at

_SAID_AS_A_PATH = ("/", "./", "../")


def find_artifact(reading: Reading, word: str, *, here: Here) -> Artifact:
    """Return the artifact with this name, else the one at this path; the only way from a word to an artifact.

    A path is one of this machine, a relative one starts at `here`; `HOST:PATH` is one of another machine. No link is
    followed. Where several artifacts had the path, the one whose bytes are there answers, else the last that was there:
    what is gone can still be asked about. UnknownObject with the nearest names when there is neither, since a word that
    matches nothing is never an empty success.
    """
    found = reading.artifact(word) if word else None
    if found is not None:
        return found
    place = place_of(reading, word, here=here) if word else None
    at_path = None if place is None else _at_path(reading, place, roots_at(reading, place, here=here))
    if at_path is None:
        raise _unknown(reading, word, place)
    return at_path


def find_artifacts(reading: Reading, words: Sequence[str], *, here: Here) -> tuple[Artifact, ...]:
    """Return the artifacts that the words mean, each once, in the order of the words."""
    found = [find_artifact(reading, word, here=here) for word in words]
    return tuple({artifact.artifact_id: artifact for artifact in found}.values())


def roots_above(roots: Sequence[Root], path: bytes) -> list[tuple[Root, bytes]]:
    """Return (root, path below it) for every root that the absolute path lies strictly below, innermost first."""
    found = []
    for root in roots:
        try:
            found.append((root, ManagedPath.within(root.path, path).relative))
        except ValueError:
            continue
    return sorted(found, key=lambda pair: len(pair[0].path), reverse=True)


def _at_path(reading: Reading, place: Place, roots: Sequence[Root]) -> Artifact | None:
    above = roots_above(roots, place.path)
    for states in (BYTES_AT_PATH, tuple(ReplicaState)):
        for root, relative in above:
            found = reading.artifact_at(root.root_id, relative, states=states)
            if found is not None:
                return found
    return None


def _unknown(reading: Reading, word: str, place: Place | None) -> UnknownObject:
    if place is not None and (split_host(word)[0] or word.startswith(_SAID_AS_A_PATH)):
        elsewhere = _same_path_elsewhere(reading, place)
        scan = f"artifactctl scan {shell_word(place.typed)}"
        remedy = f"`{elsewhere}` is another machine's: name it like that" if elsewhere else scan
        return UnknownObject(f"no artifact is catalogued at {place.text}", remedy=remedy)
    renamed = _called_since(reading, word)
    if renamed:
        return UnknownObject(f"the artifact `{word}` was renamed: it is called `{renamed}`", remedy=f"write {renamed}")
    near = reading.names_like(word, limit=5) if word else ()
    remedy = f"did you mean `{near[0]}`?" if near else "`artifactctl ls` lists the names"
    return UnknownObject(f"the catalog knows no artifact `{word}`, by name or by path", remedy=remedy)


def _same_path_elsewhere(reading: Reading, place: Place) -> str:
    """Return how the first artifact at the same path of another machine is named, "" when there is none."""
    for known in reading.hosts():
        roots = tuple(root for root in reading.roots() if root.host_id == known.host_id)
        if known.address and place.machine is None and _at_path(reading, place, roots) is not None:
            return Place(machine=known, path=place.path).text
    return ""


def _called_since(reading: Reading, name: str) -> str:
    """Return what an artifact is called now that once had the name, "" when none had, or it is not known any more."""
    later: dict[str, str] = {}
    for event in audit.events(reading.connection, action=AuditAction.ARTIFACT_RESTATE):
        facts = event.entry.evidence
        before = facts.get("name_before") if isinstance(facts, dict) else None
        if isinstance(before, str) and before != event.entry.artifact:
            later[before] = event.entry.artifact
    met: set[str] = set()
    while name in later and name not in met:
        met.add(name)
        name = later[name]
    return name if met and reading.artifact(name) is not None else ""
