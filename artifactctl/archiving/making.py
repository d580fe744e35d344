"""A copy in a root while it comes into being, wherever its bytes come from: begun, filled, placed, recorded."""

import os
from collections.abc import Mapping

from artifactctl import audit
from artifactctl.archiving.copying import Copied, Copying
from artifactctl.archiving.failures import PlaceTaken
from artifactctl.archiving.pieces import Pieces
from artifactctl.archiving.promises import Kept
from artifactctl.archiving.recording import record_copy
from artifactctl.archiving.source import Origin
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.errors import Busy, HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyNote, CopyRecord, CopyState, Placed
from artifactctl.inventory.targets import Target


def begun_before(work: ArchivingWork, origin: Origin, destination: Target) -> CopyRecord | None:
    """Return the copy to this place that an earlier run began, None when there is none that can be gone on with.

    One whose source was another then is taken away first.
    """
    host = work.host_of(destination.root)
    for record in host.copies(destination.root):
        note = record.note
        if note is None or note.target.relative != destination.relative or note.name != origin.artifact.name:
            continue
        if record.is_being_written:
            raise Busy(f"a copy of {note.name} to this place is being made right now", remedy="wait until it has ended")
        if note.fingerprint == origin.fingerprint and record.state in (CopyState.BEGUN, CopyState.COMPLETE):
            work.say(f"going on with the copy that was begun at {note.at:%Y-%m-%d %H:%M} UTC")
            _mark_archiving(work, origin, destination, record.operation)
            return record
        work.say("what an earlier run had copied is of no use any more: the original has changed since")
        with work.changing(destination.root):
            take_away(work, destination.root, record)
    return None


def take_away(work: ArchivingWork, root: Root, record: CopyRecord) -> None:
    """Remove what was written of a copy, then let the catalog say that nothing came of it (I7).

    The caller holds the right to change the root.
    """
    left = work.host_of(root).take_copy_away(root, record.operation)
    if left:
        folder = root.path.rstrip(b"/") + b"/.artifactctl/archiving/" + os.fsencode(record.operation) + b".over/"
        more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
        raise HostFailure(
            f"in the folder of the copy {record.operation} lies what was not written by it: "
            f"{display_path(folder + left[0])}{more}",
            remedy=f"move {display_path(folder + left[0])} away, then try again",
        )
    note = record.note
    if note is None:
        return
    acting = work.acting_on(root)
    with work.catalog.writing(work.actor, work.clock()) as writing:
        replica = archiving_replica(writing, root, note)
        if replica is not None:
            writing.change_state(replica.replica_id, expected={ReplicaState.ARCHIVING}, to=ReplicaState.GONE)
            entry = acting.entry(AuditAction.ARCHIVE_ABANDON, artifact=note.name, path=note.target.absolute)
            audit.append(writing.connection, entry)


def archiving_replica(reading: Reading, root: Root, note: CopyNote) -> Replica | None:
    """Return the copy as the catalog has it while it comes into being, None when it has none."""
    artifact = reading.artifact(note.name)
    for replica in artifact.replicas if artifact else ():
        place = (replica.root.root_id, replica.relative)
        if place == (root.root_id, note.target.relative) and replica.state is ReplicaState.ARCHIVING:
            return replica
    return None


def begin(work: ArchivingWork, origin: Origin, destination: Target) -> str:
    """Begin a copy at the destination, durably there and then in the catalog; returns its operation."""
    operation = work.new_operation()
    note = CopyNote(
        operation=operation,
        target=ManagedPath(root=destination.root.path, relative=destination.relative),
        name=origin.artifact.name,
        source=origin.shown,
        fingerprint=origin.fingerprint,
        catalog_id=work.catalog.lineage_id,
        actor=work.actor,
        at=work.clock(),
    )
    with work.changing(destination.root):
        work.host_of(destination.root).begin_copy(destination.root, note, origin.entries)
        _mark_archiving(work, origin, destination, operation)
    return operation


def _mark_archiving(work: ArchivingWork, origin: Origin, destination: Target, operation: str) -> None:
    """Let the catalog know of the copy, as one that counts for nothing yet."""
    acting = work.acting_on(destination.root)
    with work.catalog.writing(work.actor, acting.now) as writing:
        artifact = writing.artifact_by_id(origin.artifact.artifact_id) or origin.artifact
        place = (destination.root.root_id, destination.relative, ReplicaState.ARCHIVING)
        if any((r.root.root_id, r.relative, r.state) == place for r in artifact.replicas):
            return
        writing.add_replica(
            artifact.artifact_id,
            destination.root.root_id,
            destination.relative,
            is_directory=origin.is_directory,
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
            size_bytes=origin.size_bytes,
            evidence={"operation": operation, "source": origin.shown},
        )
        audit.append(writing.connection, entry)


def fill(work: ArchivingWork, origin: Origin, root: Root, operation: str, kept: Kept, *, pieces: Pieces) -> Copied:
    """Write what is missing of a copy; when it was not stopped everything is there and flushed."""
    with work.catalog.reading() as reading:
        stored = {name: digest for name, digest in reading.digests(origin.artifact.artifact_id) if digest is not None}
    writing = work.host_of(root).write_copy(root, operation)
    try:
        copied = Copying(work, origin, writing, pieces=pieces, stored=stored, sign_of_life=kept.sign_of_life).run()
        if not copied.stopped:
            writing.complete()
    finally:
        writing.close()
    return copied


def put_in_place(
    work: ArchivingWork,
    origin: Origin,
    destination: Target,
    operation: str,
    copied: Copied,
    *,
    facts: Mapping[str, JsonValue],
) -> None:
    """Rename a complete copy to its place and call it live and verified; `facts` go into the audit log."""
    host, root = work.host_of(destination.root), destination.root
    told = {"operation": operation, "from_device": copied.from_device, "sent_bytes": copied.sent_bytes, **facts}
    with work.changing(root):
        outcome = host.place_copy(root, operation)
        if outcome is not Placed.DONE:
            raise PlaceTaken(
                f"the copy is complete and cannot be put at {display_path(destination.absolute)}: {WHY_NOT[outcome]}",
                remedy="free the place, then run the same command again: nothing is copied twice",
            )
        record_copy(
            work,
            origin.artifact.name,
            root,
            destination.relative,
            entries=origin.entries,
            digests=copied.digests,
            evidence=told,
        )
        host.take_copy_away(root, operation)


WHY_NOT: Mapping[Placed, str] = {
    Placed.OCCUPIED: "something stands there by now",
    Placed.NO_PARENT: "the way there leads through a link or a file",
    Placed.CROSS_DEVICE: "that is on another mount or subvolume than the root's own folder",
    Placed.DENIED: "permission was denied",
}
