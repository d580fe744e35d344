"""Making a copy of an artifact in another root: the steps of the package, and what the catalog is told of them."""

from collections.abc import Mapping

from artifactctl import audit
from artifactctl.archiving.copying import Copied, Copying
from artifactctl.archiving.destination import require_free
from artifactctl.archiving.failures import PlaceTaken
from artifactctl.archiving.promises import Kept, kept_while_copying
from artifactctl.archiving.recording import record_copy
from artifactctl.archiving.source import Source, examine, require_unchanged
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyNote, CopyRecord, CopyState, CopyWriting, Placed
from artifactctl.inventory.targets import Target
from artifactctl.report.archive import CopyMade, origin_of


def archive_to_root(work: ArchivingWork, artifact: Artifact, replica: Replica, destination: Target) -> CopyMade:
    """Copy a live replica to a place below a root; the copy is live and verified when it returns, unless it stopped.

    What an earlier run of the same copy left is gone on with when the source is still the same.
    """
    require_free(work, artifact, replica, destination)
    source = examine(work, artifact, replica)
    begun = _begun(work, source, destination)
    began_at = work.elapsed_clock()
    size_bytes = source.size_bytes - (begun.done_bytes if begun else 0)
    with kept_while_copying(work, source, destination.root, size_bytes=size_bytes) as kept:
        operation = begun.operation if begun else _begin(work, source, destination)
        copied = _copy(work, source, destination.root, operation, kept)
        if not copied.stopped:
            require_unchanged(work, source)
            seconds = work.elapsed_clock() - began_at
            _put_in_place(work, source, destination, operation, copied, seconds=seconds)
    return CopyMade(
        name=artifact.name,
        source=source.target.absolute,
        destination=destination.absolute,
        size_bytes=source.size_bytes,
        sent_bytes=copied.sent_bytes,
        files=len(source.files),
        seconds=work.elapsed_clock() - began_at,
        origin=origin_of(copied.from_device),
        is_verified=not copied.stopped,
        same_volume=destination.root.filesystem_uuid == replica.root.filesystem_uuid,
    )


def _begun(work: ArchivingWork, source: Source, destination: Target) -> CopyRecord | None:
    """Return the copy to this place that an earlier run began, None when there is none that can be gone on with.

    One whose source was another then is taken away first.
    """
    host = work.host_of(destination.root)
    for record in host.copies(destination.root):
        note = record.note
        if note is None or note.target.relative != destination.relative or note.name != source.artifact.name:
            continue
        if note.fingerprint == source.fingerprint and record.state in (CopyState.BEGUN, CopyState.COMPLETE):
            work.say(f"going on with the copy that was begun at {note.at:%Y-%m-%d %H:%M} UTC")
            _mark_archiving(work, source, destination, record.operation)
            return record
        work.say("what an earlier run had copied is of no use any more: the original has changed since")
        take_away(work, destination.root, record)
    return None


def take_away(work: ArchivingWork, root: Root, record: CopyRecord) -> None:
    """Remove what was written of a copy, then let the catalog say that nothing came of it (I7)."""
    left = work.host_of(root).take_copy_away(root, record.operation)
    if left:
        raise HostFailure(
            f"in the folder of the copy {record.operation} lies what was not written by it: {display_path(left[0])}",
            remedy=f"move it out of {display_path(root.path)}/.artifactctl/archiving, then try again",
        )
    note = record.note
    if note is None:
        return
    with work.catalog.writing(work.actor, work.clock()) as writing:
        replica = archiving_replica(writing, root, note)
        if replica is not None:
            writing.change_state(replica.replica_id, expected={ReplicaState.ARCHIVING}, to=ReplicaState.GONE)
            entry = work.acting().entry(AuditAction.ARCHIVE_ABANDON, artifact=note.name, path=note.target.absolute)
            audit.append(writing.connection, entry)


def archiving_replica(reading: Reading, root: Root, note: CopyNote) -> Replica | None:
    """Return the copy as the catalog has it while it comes into being, None when it has none."""
    artifact = reading.artifact(note.name)
    for replica in artifact.replicas if artifact else ():
        place = (replica.root.root_id, replica.relative)
        if place == (root.root_id, note.target.relative) and replica.state is ReplicaState.ARCHIVING:
            return replica
    return None


def _begin(work: ArchivingWork, source: Source, destination: Target) -> str:
    operation = work.new_operation()
    acting = work.acting()
    note = CopyNote(
        operation=operation,
        target=ManagedPath(root=destination.root.path, relative=destination.relative),
        name=source.artifact.name,
        source=f"{acting.host}:{display_path(source.target.absolute)}",
        fingerprint=source.fingerprint,
        catalog_id=work.catalog.lineage_id,
        actor=work.actor,
        at=acting.now,
    )
    work.host_of(destination.root).begin_copy(destination.root, note, source.entries)
    _mark_archiving(work, source, destination, operation)
    return operation


def _mark_archiving(work: ArchivingWork, source: Source, destination: Target, operation: str) -> None:
    """Let the catalog know of the copy, as one that counts for nothing yet."""
    acting = work.acting()
    with work.catalog.writing(work.actor, acting.now) as writing:
        artifact = writing.artifact_by_id(source.artifact.artifact_id) or source.artifact
        place = (destination.root.root_id, destination.relative, ReplicaState.ARCHIVING)
        if any((r.root.root_id, r.relative, r.state) == place for r in artifact.replicas):
            return
        writing.add_replica(
            artifact.artifact_id,
            destination.root.root_id,
            destination.relative,
            is_directory=source.is_directory,
            files=0,
            apparent_bytes=0,
            allocated_bytes=0,
            member_digest="",
            fingerprint="",
            observed_at=acting.now,
            state=ReplicaState.ARCHIVING,
        )
        entry = acting.entry(
            AuditAction.ARCHIVE_BEGIN,
            artifact=artifact.name,
            path=destination.absolute,
            size_bytes=source.size_bytes,
            evidence={"operation": operation, "source": display_path(source.target.absolute)},
        )
        audit.append(writing.connection, entry)


def _copy(work: ArchivingWork, source: Source, root: Root, operation: str, kept: Kept) -> Copied:
    with work.catalog.reading() as reading:
        stored = {name: digest for name, digest in reading.digests(source.artifact.artifact_id) if digest is not None}
    writing: CopyWriting = work.host_of(root).write_copy(root, operation)
    try:
        copied = Copying(work, source, writing, stored=stored, sign_of_life=kept.sign_of_life).run()
        if not copied.stopped:
            writing.complete()
    finally:
        writing.close()
    return copied


def _put_in_place(
    work: ArchivingWork, source: Source, destination: Target, operation: str, copied: Copied, *, seconds: float
) -> None:
    host, root = work.host_of(destination.root), destination.root
    outcome = host.place_copy(root, operation)
    if outcome is not Placed.DONE:
        raise PlaceTaken(
            f"the copy is complete and cannot be put at {display_path(destination.absolute)}: {WHY_NOT[outcome]}",
            remedy="free the place, then run the same command again: nothing is copied twice",
        )
    record_copy(
        work,
        source.artifact.name,
        root,
        destination.relative,
        entries=source.entries,
        digests=copied.digests,
        evidence={
            "operation": operation,
            "from_device": copied.from_device,
            "sent_bytes": copied.sent_bytes,
            "seconds": round(seconds, 3),
            **hosts_between(work, source.replica, destination.root),
        },
    )
    host.take_copy_away(root, operation)


def hosts_between(work: ArchivingWork, replica: Replica, root: Root | None) -> dict[str, JsonValue]:
    """Return from which machine the bytes came, and whether they left it: `leave` measures by that."""
    with work.catalog.reading() as reading:
        known = reading.host(replica.root.host_id)
    left = root is None or root.host_id != replica.root.host_id
    return {"from_host": "" if known is None else known.name, "left_host": left}


WHY_NOT: Mapping[Placed, str] = {
    Placed.OCCUPIED: "something stands there by now",
    Placed.NO_PARENT: "the way there leads through a link or a file",
    Placed.CROSS_DEVICE: "that is on another mount or subvolume than the root's own folder",
    Placed.DENIED: "permission was denied",
}
