"""Where a copy goes: a root and a place below it that is free."""

from artifactctl.archiving.failures import PlaceTaken, UnfitDestination
from artifactctl.archiving.source import target_of
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.registering import refuse_part_of_another
from artifactctl.inventory.standing import require_in_charge
from artifactctl.inventory.targets import Target, require_recorded_volume, target_at


def is_url(word: str) -> bool:
    """Whether `--to` names an object store rather than a root or a path."""
    return "://" in word


def place_meant(work: ArchivingWork, word: str | None, *, here: bytes) -> Target | None:
    """Return the root, or the place below one, that `--to` names; None when nothing was said."""
    if word is None:
        return None
    with work.catalog.reading() as reading:
        roots = roots_here(reading, work.host.identify())
    named = next((root for root in roots if root.name == word), None)
    return Target(root=named, relative=b"") if named is not None else target_at(work.host, roots, _absolute(word, here))


def destination_for(work: ArchivingWork, replica: Replica, meant: Target | None) -> Target:
    """Return the place of the copy: where nothing else was said the same path, below the only other root there is.

    UnfitDestination where there is none, or more than one.
    """
    if meant is not None and meant.relative:
        return meant
    with work.catalog.reading() as reading:
        roots = roots_here(reading, work.host.identify())
    root = meant.root if meant is not None else _only_other(roots, replica)
    return Target(root=root, relative=replica.relative)


def _absolute(word: str, here: bytes) -> bytes:
    path = word.encode("utf-8", "surrogateescape")
    return path if path.startswith(b"/") else here.rstrip(b"/") + b"/" + path


def _only_other(roots: tuple[Root, ...], replica: Replica) -> Root:
    others = [root for root in roots if root.root_id != replica.root.root_id]
    if len(others) == 1:
        return others[0]
    if not others:
        raise UnfitDestination(
            "there is no other root that a copy could go to",
            remedy="`artifactctl root add PATH` makes one, or `--to s3://bucket/prefix` names an object store",
        )
    raise UnfitDestination(
        f"a copy could go to {len(others)} roots: {', '.join(root.name for root in others)}",
        remedy=f"name one: --to {others[0].name}",
    )


def require_free(work: ArchivingWork, artifact: Artifact, replica: Replica | None, destination: Target) -> None:
    """Refuse a place that is taken, that is part of something, or that lies in or around what is copied.

    `replica` None: what is copied lies in no root.
    """
    host: Host = work.host_of(destination.root)
    place = ManagedPath(root=destination.root.path, relative=destination.relative)
    shown = display_path(place.absolute)
    require_recorded_volume(host, destination.root, catalog_id=work.catalog.lineage_id)
    require_in_charge(host, work.catalog, destination.root)
    same_machine = replica is not None and destination.root.host_id == replica.root.host_id
    if replica is not None and same_machine and _overlap(place.absolute, target_of(replica).absolute):
        raise UnfitDestination(f"{shown} is the original of {artifact.name}, or lies in or around it", remedy="--to")
    refuse_part_of_another(work.catalog, destination)
    _require_one_filesystem(host, destination)
    if host.identity(place.absolute) is not None:
        raise PlaceTaken(f"something stands at {shown} already", remedy=_remedy(artifact, destination))
    with work.catalog.reading() as reading:
        known = reading.artifact_at(destination.root.root_id, destination.relative, states=(ReplicaState.MISSING,))
    if known is not None and known.artifact_id != artifact.artifact_id:
        raise PlaceTaken(f"{shown} is the place of {known.name}, which is missing", remedy="name another place: --to")


def _require_one_filesystem(host: Host, destination: Target) -> None:
    """Refuse a place that the finished copy could not be renamed to, before anything is copied."""
    root, above = destination.root, destination.absolute
    while above != root.path:
        above = above.rpartition(b"/")[0]
        found, home = host.identity(above), host.identity(root.path)
        if found is None or home is None:
            continue
        if (found.filesystem_uuid, found.subvolume) != (home.filesystem_uuid, home.subvolume):
            raise UnfitDestination(
                f"{display_path(above)} is on another filesystem or subvolume than its root {root.name}",
                remedy=f"make it a root of its own: `artifactctl root add {display_path(above)}`",
            )
        return


def _remedy(artifact: Artifact, destination: Target) -> str:
    place = (destination.root.root_id, destination.relative)
    there = [r.state for r in artifact.replicas if (r.root.root_id, r.relative) == place]
    if ReplicaState.ARCHIVING in there:
        return "a copy of it was being made there: `artifactctl doctor --repair` brings that to its end"
    if ReplicaState.LIVE in there:
        return f"that is a copy of it already: `artifactctl verify {artifact.name} --level digests` looks at it"
    return f"move it away, or name another place: --to {display_path(destination.root.path)}/PATH"


def _overlap(one: bytes, other: bytes) -> bool:
    return (one + b"/").startswith(other + b"/") or (other + b"/").startswith(one + b"/")
