"""Bringing an artifact back from another copy: byte for byte, to its old place or another, onto nothing."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from artifactctl.archiving.archive import archive_to_root, require_role
from artifactctl.archiving.destination import require_free
from artifactctl.archiving.failures import NotTheSameBytes, UnfitDestination
from artifactctl.archiving.making import begin, begun_before, fill, put_in_place
from artifactctl.archiving.manifests import MANIFEST, Manifest, decoded
from artifactctl.archiving.pieces import PIECE_BYTES, Pieces
from artifactctl.archiving.promises import kept_while_copying
from artifactctl.archiving.source import Origin, source_of
from artifactctl.archiving.store_copies import folder_of
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.audit import JsonValue
from artifactctl.domain.errors import Refused
from artifactctl.hosts.copies import CopyEntry
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.targets import Target
from artifactctl.report.archive import CopyMade, CopyPlace, origin_of
from artifactctl.stores.codecs import CODECS, Undecodable
from artifactctl.stores.store import ObjectStore

_LEFT_ITS_PLACE = (ReplicaState.GONE, ReplicaState.MISSING)


class NothingToRestore(Refused):
    """No copy is anywhere from which it could be brought back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restorable:
    """From where an artifact would come: a live copy below a root, else a verified one in a store."""

    artifact: Artifact
    replica: Replica | None
    archive: ArchiveCopy | None


def restorable(work: ArchivingWork, artifact: Artifact, *, towards: Root) -> Restorable:
    """Return from where the artifact can be brought to a root; NothingToRestore when it cannot."""
    with work.catalog.reading() as reading:
        archives = [copy for copy in reading.archives(artifact_ids=(artifact.artifact_id,)) if copy.is_verified]
    archive = archives[-1] if archives else None
    if any(r.state is ReplicaState.LIVE for r in artifact.replicas):
        replica: Replica | None = source_of(work, artifact, towards=towards)
        return Restorable(artifact=artifact, replica=replica, archive=archive)
    if archive is None:
        raise NothingToRestore(
            f"no verified copy of {artifact.name} is anywhere that it could be brought back from",
            remedy=f"`artifactctl show {artifact.name}` shows its copies; what lies in quarantine is restored there",
        )
    return Restorable(artifact=artifact, replica=None, archive=archive)


def destination_of(work: ArchivingWork, artifact: Artifact, meant: Target | None) -> Target:
    """Return where an artifact is brought back to: the place that was said, below a root that was said the old path."""
    if meant is None:
        return old_place(work, artifact)
    if meant.relative:
        return meant
    ever = [r for r in artifact.replicas if _was_whole(r)]
    left = [r for r in ever if r.state in _LEFT_ITS_PLACE]
    return Target(root=meant.root, relative=(left or ever)[-1].relative)


def old_place(work: ArchivingWork, artifact: Artifact) -> Target:
    """Return where the artifact last was and is no more: on this machine, where it never was here on the only other.

    UnfitDestination when it is where it was, or was on several machines.
    """
    with work.catalog.reading() as reading:
        here = {root.root_id for root in roots_here(reading, work.identity())}
    ever = [r for r in artifact.replicas if _was_whole(r)]
    places = [r for r in ever if r.root.root_id in here] or ever
    taken = {(r.root.root_id, r.relative) for r in places if r.state not in _LEFT_ITS_PLACE}
    left = [r for r in places if r.state in _LEFT_ITS_PLACE and (r.root.root_id, r.relative) not in taken]
    if len({r.root.host_id for r in left}) > 1:
        roots = dict.fromkeys(r.root.name for r in left)
        raise UnfitDestination(
            f"{artifact.name} was on several machines, in the roots {', '.join(roots)}",
            remedy=f"say where it should go: --to {next(iter(roots))}",
        )
    if left:
        return Target(root=left[-1].root, relative=left[-1].relative)
    live = next((r for r in places if r.state is ReplicaState.LIVE), None)
    if live is not None:
        raise UnfitDestination(
            f"{artifact.name} lies at {work.place(live.root, live.relative).text}: there is nothing to bring back",
            remedy=f"to have it at another place as well: `artifactctl unarchive {artifact.name} --to PATH`",
        )
    if taken:
        raise UnfitDestination(
            f"{artifact.name} is set aside or being moved: its old place is still its own",
            remedy=f"artifactctl quarantine restore {artifact.name}",
        )
    raise UnfitDestination(f"{artifact.name} was never in a root", remedy="say where it should go: --to ROOT")


def _was_whole(replica: Replica) -> bool:
    """Whether it ever was more than a copy that was given up before it was complete."""
    return replica.fingerprint != ""


def restore(work: ArchivingWork, origin: Restorable, destination: Target) -> CopyMade:
    """Bring the artifact back to a free place; it is live and verified there when this returns, unless it stopped."""
    if origin.replica is not None:
        made = archive_to_root(work, origin.artifact, origin.replica, destination)
        return replace(made, is_restored=True)
    assert origin.archive is not None
    return _download(work, origin.artifact, origin.archive, destination)


def _download(work: ArchivingWork, artifact: Artifact, archive: ArchiveCopy, destination: Target) -> CopyMade:
    require_role(work, artifact)
    store = ObjectStore(archive.url)
    folder = folder_of(artifact.name, archive.archive_id, work.catalog.lineage_id)
    require_free(work, artifact, None, destination)
    manifest = _manifest(store, f"{folder}/{MANIFEST}", archive)
    shown = f"{store.url}/{folder}"
    origin = Origin(artifact=artifact, entries=manifest.entries, fingerprint=archive.fingerprint, shown=shown)
    begun = begun_before(work, origin, destination)
    began_at = work.elapsed_clock()
    size_bytes = origin.size_bytes - (begun.done_bytes if begun else 0)
    with kept_while_copying(work, origin, destination.root, size_bytes=size_bytes, leased=False) as kept:
        operation = begun.operation if begun else begin(work, origin, destination)
        pieces = _pieces_of_store(store, folder, manifest)
        copied = fill(work, origin, destination.root, operation, kept, pieces=pieces)
        seconds = round(work.elapsed_clock() - began_at, 3)
        if not copied.stopped:
            facts: dict[str, JsonValue] = {"archive": archive.archive_id, "from_url": store.url, "seconds": seconds}
            put_in_place(work, origin, destination, operation, copied, facts=facts)
    return CopyMade(
        name=artifact.name,
        source=CopyPlace(path=shown.encode()),
        destination=work.place(destination.root, destination.relative),
        size_bytes=origin.size_bytes,
        sent_bytes=copied.sent_bytes,
        files=len(origin.files),
        seconds=seconds,
        origin=origin_of(copied.from_device),
        is_verified=not copied.stopped,
        is_restored=True,
    )


def _manifest(store: ObjectStore, key: str, archive: ArchiveCopy) -> Manifest:
    content = store.get(key)
    if hashlib.sha256(content).hexdigest() != archive.manifest:
        raise NotTheSameBytes(
            f"{store.url}/{key} is not the manifest that was written there", remedy="restore another copy"
        )
    return decoded(content, where=f"{store.url}/{key}")


def _pieces_of_store(store: ObjectStore, folder: str, manifest: Manifest) -> Pieces:
    """Return what downloads and decodes the files; NotTheSameBytes at the end of one that is not what was stored."""
    codec = CODECS[manifest.codec]

    def read(entry: CopyEntry) -> Iterator[tuple[int, bytes]]:
        member = manifest.members[entry.relative]
        plain, offset = hashlib.sha256(), 0
        damaged = NotTheSameBytes(
            f"{store.url}/{folder}/{member.key} is not what was stored there", remedy="restore another copy"
        )
        try:
            for piece in codec.decode(store.read(f"{folder}/{member.key}")):
                plain.update(piece)
                for start in range(0, len(piece), PIECE_BYTES):
                    part = piece[start : start + PIECE_BYTES]
                    if part.count(0) != len(part):  # zeros may stay a hole
                        yield offset, part
                    offset += len(part)
        except Undecodable as error:
            raise damaged from error
        if plain.hexdigest() != member.digest:
            raise damaged

    return read
