"""Where a copy goes: a root and a place below it that is free."""

from collections.abc import Callable
from dataclasses import dataclass

from artifactctl.archiving.failures import PlaceTaken, UnfitDestination
from artifactctl.archiving.source import target_of
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.copies import CopyState
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.places import Here, place_of, roots_at
from artifactctl.inventory.registering import refuse_part_of_another
from artifactctl.inventory.standing import require_in_charge
from artifactctl.inventory.targets import Target, require_recorded_volume, target_at


def is_url(word: str) -> bool:
    """Whether `--to` names an object store rather than a root or a path."""
    return "://" in word


def target_of_word(catalog: Catalog, word: str, *, here: Here, reach: Callable[[KnownHost | None], Host]) -> Target:
    """Return the root that a word names, or the place below one: a path of this machine, or `HOST:PATH`."""
    with catalog.reading() as reading:
        named = reading.root(word)
        if named is not None:
            return Target(root=named, relative=b"")
        place = place_of(reading, word, here=here)
        roots = roots_at(reading, place, here=here)
    return target_at(reach(place.machine), roots, place.path, may_be_link=True)


def destination_for(work: ArchivingWork, artifact: Artifact, replica: Replica, meant: Target | None) -> Target:
    """Return the place of the copy: where nothing else was said the same path, below the only root that it could be.

    UnfitDestination where there is none, or more than one.
    """
    if meant is not None and meant.relative:
        return meant
    root = meant.root if meant is not None else _only_one(work, artifact, replica)
    return Target(root=root, relative=replica.relative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Possible:
    """A root that a copy could go to, and the machine on which it lies."""

    root: Root
    machine: str

    @property
    def text(self) -> str:
        """The root for people."""
        return f"`{self.root.name}` on {self.machine}"


def possible_roots(reading: Reading, artifact: Artifact) -> tuple[Possible, ...]:
    """Return the roots of all machines that may be written to and have no copy of the artifact, by name."""
    machines = {known.host_id: known.name for known in reading.hosts()}
    taken = {r.root.root_id for r in artifact.replicas if r.state not in _LEAVES_ROOM}
    return tuple(
        Possible(root=root, machine=machines[root.host_id])
        for root in reading.roots()
        if root.is_marked and root.root_id not in taken
    )


def _only_one(work: ArchivingWork, artifact: Artifact, replica: Replica) -> Root:
    """Return the only root that a copy could go to; where several could, the one in which it was begun."""
    with work.catalog.reading() as reading:
        possible = possible_roots(reading, artifact)
    begun = {
        r.root.root_id
        for r in artifact.replicas
        if r.state is ReplicaState.ARCHIVING and r.relative == replica.relative
    }
    meant = [each for each in possible if each.root.root_id in begun] or possible
    if len(meant) == 1:
        return meant[0].root
    if not meant:
        raise UnfitDestination(f"there is no other root that a copy of {artifact.name} could go to", remedy=_NO_ROOT)
    raise UnfitDestination(
        f"a copy could go to {len(meant)} roots: {', '.join(each.text for each in meant)}",
        remedy=f"name one: --to {meant[0].root.name}",
    )


def _elsewhere(work: ArchivingWork, artifact: Artifact) -> str:
    """Return what to type instead of a place that cannot be: the roots that it could go to."""
    with work.catalog.reading() as reading:
        possible = possible_roots(reading, artifact)
    if not possible:
        return f"no other root could have it: {_NO_ROOT}"
    return f"name another root: {' or '.join(f'--to {each.root.name} ({each.machine})' for each in possible[:_SHOWN])}"


_LEAVES_ROOM = (ReplicaState.GONE, ReplicaState.MISSING, ReplicaState.ARCHIVING)
_SHOWN = 5
_NO_ROOT = (
    "`artifactctl root add PATH` or `root add HOST:PATH` makes one, `--to s3://bucket/prefix` names an object store"
)


def require_free(work: ArchivingWork, artifact: Artifact, replica: Replica | None, destination: Target) -> None:
    """Refuse a place that is taken, that is part of something, or that lies in or around what is copied.

    `replica` None: what is copied lies in no root.
    """
    host: Host = work.host_of(destination.root)
    place = ManagedPath(root=destination.root.path, relative=destination.relative)
    shown = work.place(destination.root, destination.relative).text
    require_recorded_volume(host, destination.root, catalog_id=work.catalog.lineage_id)
    require_in_charge(host, work.catalog, destination.root)
    same_machine = replica is not None and destination.root.host_id == replica.root.host_id
    if replica is not None and same_machine and _overlap(place.absolute, target_of(replica).absolute):
        raise UnfitDestination(
            f"{shown} is the original of {artifact.name}, or lies in or around it",
            remedy=_elsewhere(work, artifact),
        )
    refuse_part_of_another(work.catalog, destination)
    _require_one_filesystem(work, destination)
    if host.identity(place.absolute) is not None:
        raise PlaceTaken(f"something stands at {shown} already", remedy=_remedy(work, artifact, destination))
    with work.catalog.reading() as reading:
        known = reading.artifact_at(destination.root.root_id, destination.relative, states=(ReplicaState.MISSING,))
    if known is not None and known.artifact_id != artifact.artifact_id:
        raise PlaceTaken(f"{shown} is the place of {known.name}, which is missing", remedy="name another place: --to")


def _require_one_filesystem(work: ArchivingWork, destination: Target) -> None:
    """Refuse a place that the finished copy could not be renamed to, before anything is copied."""
    host, root, above = work.host_of(destination.root), destination.root, destination.absolute
    while above != root.path:
        above = above.rpartition(b"/")[0]
        found, home = host.identity(above), host.identity(root.path)
        if found is None or home is None:
            continue
        if (found.filesystem_uuid, found.subvolume) != (home.filesystem_uuid, home.subvolume):
            shown = work.place(root, above[len(root.path) :].strip(b"/"))
            raise UnfitDestination(
                f"{shown.text} is on another filesystem or subvolume than its root {root.name}",
                remedy=f"make it a root of its own: `artifactctl root add {shown.word}`",
            )
        return


def _remedy(work: ArchivingWork, artifact: Artifact, destination: Target) -> str:
    place = (destination.root.root_id, destination.relative)
    there = [r.state for r in artifact.replicas if (r.root.root_id, r.relative) == place]
    if ReplicaState.ARCHIVING in there and _is_put_there(work, destination):
        return "that is the copy, whole: `artifactctl doctor --repair` brings it to its end"
    if ReplicaState.ARCHIVING in there:
        place_word = work.place(destination.root, destination.relative).word
        return (
            "a copy of it was being made there: move away what stands there and run the same command again, or give "
            f"the copy up: `artifactctl archive {artifact.name} --to {place_word} --abandon`"
        )
    if ReplicaState.LIVE in there:
        return f"that is a copy of it already: `artifactctl verify {artifact.name} --level digests` looks at it"
    top = work.place(destination.root, b"").text
    return f"move it away, or name another place: --to {top}/PATH"


def _is_put_there(work: ArchivingWork, destination: Target) -> bool:
    """Whether what stands at the place is a finished copy that the catalog was not told of."""
    records = work.host_of(destination.root).copies(destination.root)
    return any(
        record.state is CopyState.PLACED
        and record.note is not None
        and record.note.target.relative == destination.relative
        for record in records
    )


def _overlap(one: bytes, other: bytes) -> bool:
    return (one + b"/").startswith(other + b"/") or (other + b"/").startswith(one + b"/")
