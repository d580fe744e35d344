"""Copies that did not come to their end: what `doctor` says of them, and how it brings them to one."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from artifactctl import audit
from artifactctl.archiving.begun import BegunCopy
from artifactctl.archiving.making import WHY_NOT, archiving_replica, take_away
from artifactctl.archiving.others import copier_at_work, has_another
from artifactctl.archiving.recording import record_copy
from artifactctl.archiving.recovery import CopyAction, decide_copy
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.hosts.copies import CopyNote, CopyRecord, CopyState, Placed
from artifactctl.report.doctor import Finding
from artifactctl.report.sizes import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedCopy:
    """One copy with a folder in the root, and what is to be done about it.

    `kept_because` says why what would be taken away is left where it is, "" where nothing speaks against it.
    """

    root: Root
    record: CopyRecord
    action: CopyAction
    kept_because: str = ""

    @property
    def shown(self) -> str:
        """What it is, for a person."""
        note = self.record.note
        return f"copy {self.record.operation}" if note is None else f"the copy of {note.name}"


def unfinished_copies(work: ArchivingWork, root: Root) -> tuple[UnfinishedCopy, ...]:
    """Return the copies of a root that are to be brought to an end; those being written are not among them."""
    records = work.host_of(root).copies(root)
    found = []
    with work.catalog.reading() as reading:
        for record in records:
            known = None if record.note is None else _state_at_place(reading, root, record.note)
            action = decide_copy(record.state, known, is_being_written=record.is_being_written)
            if action is not CopyAction.LEAVE:
                kept = _why_kept(work, reading, root, record) if action is CopyAction.REMOVE else ""
                found.append(UnfinishedCopy(root=root, record=record, action=action, kept_because=kept))
    return tuple(found)


def _why_kept(work: ArchivingWork, reading: Reading, root: Root, record: CopyRecord) -> str:
    """Return why what was written of a copy must stay, by what `archive --abandon` asks as well."""
    note = record.note
    artifact = None if note is None else reading.artifact(note.name)
    if artifact is None or record.state is CopyState.OVER:
        return ""
    if not has_another(reading, artifact):
        return "no other copy of it is left, so this may be all there is"
    return copier_at_work(work, reading, artifact)


def _state_at_place(reading: Reading, root: Root, note: CopyNote) -> ReplicaState | None:
    artifact = reading.artifact(note.name)
    place = (root.root_id, note.target.relative)
    states = [r.state for r in (artifact.replicas if artifact else ()) if (r.root.root_id, r.relative) == place]
    return next((s for s in states if s is ReplicaState.ARCHIVING), states[-1] if states else None)


def copy_findings(work: ArchivingWork, root: Root) -> Iterator[Finding]:
    """Yield what is to be said of a root's unfinished copies, and of copies that only the catalog knows."""
    for item in unfinished_copies(work, root):
        kept = item.kept_because
        what = f"{_told(item)}; it is not taken away: {kept}" if kept else _told(item)
        yield Finding(what=what, object=item.shown, remedy=_remedy(work, item), repairable=not kept)
    for name, replica in _without_folder(work, root):
        place = work.place(root, replica.relative).text
        yield Finding(
            what=f"a copy of it was being made at {place}, and nothing of that is there",
            object=name,
            remedy="artifactctl doctor --repair",
            repairable=True,
        )


def _told(item: UnfinishedCopy) -> str:
    record = item.record
    done = f"{format_bytes(record.done_bytes)} of {format_bytes(record.size_bytes)} are there and were read back"
    return {
        CopyAction.REMOVE: f"it was interrupted; {done}, and nothing of it counts",
        CopyAction.FINISH: "it is complete and was interrupted before it was put in its place",
        CopyAction.RECORD: "it is in its place and was interrupted before the catalog was told",
        CopyAction.TIDY: "it came to its end, and the folder in which it was made is left",
        CopyAction.CALL_MISSING: "it was complete, and somebody moved it away",
    }[item.action]


def _remedy(work: ArchivingWork, item: UnfinishedCopy) -> str:
    repair, note = "`artifactctl doctor --repair`", item.record.note
    if note is None or item.action not in (CopyAction.REMOVE, CopyAction.FINISH):
        return repair
    with work.catalog.reading() as reading:
        artifact = reading.artifact(note.name)
    to = work.place(item.root, note.target.relative).typed
    begun = BegunCopy(name=note.name, to=to, is_restored=artifact is not None and not artifact.is_live)
    if item.action is CopyAction.FINISH:
        stands = work.host_of(item.root).identity(note.target.absolute) is not None
        first = f"move away what stands at {work.place(item.root, note.target.relative).word}; then " if stands else ""
        return f"{first}{repair} puts it there; `{begun.give_up}` takes it away"
    if item.kept_because:
        return f"`{begun.again}` goes on with it"
    return f"`{begun.again}` goes on with it; {repair} takes away what was written"


def _without_folder(work: ArchivingWork, root: Root) -> tuple[tuple[str, Replica], ...]:
    """Return (artifact, replica) of copies that the catalog says are being made, and of which nothing is there."""
    host = work.host_of(root)
    places = {record.note.target.relative for record in host.copies(root) if record.note is not None}
    with work.catalog.reading() as reading:
        return tuple(
            (artifact.name, replica)
            for artifact in reading.artifacts(state=ReplicaState.ARCHIVING)
            for replica in artifact.replicas
            if replica.state is ReplicaState.ARCHIVING
            and replica.root.root_id == root.root_id
            and replica.relative not in places
        )


def repair_copies(work: ArchivingWork, root: Root) -> tuple[str, ...]:
    """Bring every unfinished copy of a root to its end; returns one sentence for each."""
    if not unfinished_copies(work, root) and not _without_folder(work, root):
        return ()
    with work.changing(root):
        done = [_repair(work, item) for item in unfinished_copies(work, root)]
        for name, replica in _without_folder(work, root):
            call_gone(work, replica, name)
            done.append(f"{name}: a copy that was being made is not there, and the catalog says so now")
    return tuple(done)


def _repair(work: ArchivingWork, item: UnfinishedCopy) -> str:
    root, record, note = item.root, item.record, item.record.note
    if item.kept_because:
        return f"{item.shown}: what was written of it was left there, since {item.kept_because}"
    if item.action is CopyAction.REMOVE or note is None:
        take_away(work, root, record)
        return f"{item.shown}: what was written of it was taken away"
    if item.action is CopyAction.FINISH:
        outcome = work.host_of(root).place_copy(root, record.operation)
        if outcome is not Placed.DONE:
            place = work.place(root, note.target.relative).word
            return (
                f"{item.shown}: it could not be put in its place, {WHY_NOT[outcome]}; free {place}, or take the copy "
                f"away: `artifactctl archive {note.name} --to {place} --abandon`"
            )
    if item.action in (CopyAction.FINISH, CopyAction.RECORD):
        entries, digests = work.host_of(root).copied(root, record.operation)
        record_copy(
            work,
            note.name,
            root,
            note.target.relative,
            entries=entries,
            digests=digests,
            evidence={"operation": record.operation, "recovered": True},
            is_proven=item.action is CopyAction.FINISH,
        )
    if item.action is CopyAction.CALL_MISSING:
        with work.catalog.reading() as reading:
            replica = archiving_replica(reading, root, note)
        if replica is not None:
            _change(work, replica, ReplicaState.MISSING, note.name, "it was moved away before it was recorded")
    work.host_of(root).take_copy_away(root, record.operation)
    return f"{item.shown}: {_ENDS[item.action].format(name=note.name)}"


_ENDS = {
    CopyAction.FINISH: "it is in its place, live and verified",
    CopyAction.RECORD: "it is live, and counts once `artifactctl verify {name} --level digests` has looked at it",
    CopyAction.TIDY: "its folder was taken away",
    CopyAction.CALL_MISSING: "it is missing: a scan finds it when it is back at its place",
}


def call_gone(work: ArchivingWork, replica: Replica, name: str) -> None:
    """Let the catalog say that nothing came of a copy of which nothing is there."""
    _change(work, replica, ReplicaState.GONE, name, "nothing of it was there")


def _change(work: ArchivingWork, replica: Replica, to: ReplicaState, name: str, why: str) -> None:
    acting = work.acting_on(replica.root)
    with work.catalog.writing(work.actor, acting.now) as writing:
        writing.change_state(replica.replica_id, expected={ReplicaState.ARCHIVING}, to=to)
        path = replica.root.path + b"/" + replica.relative
        entry = acting.entry(AuditAction.ARCHIVE_ABANDON, artifact=name, path=path, reason=why)
        audit.append(writing.connection, entry)


def upload_findings(reading: Reading, *, now: datetime) -> Iterator[Finding]:
    """Yield the copies to object stores that were begun and that nobody is at right now."""
    for copy in reading.archives():
        if copy.state is ReplicaState.PURGING:
            yield Finding(
                what=f"the removal of its copy at {copy.url} was begun and is not complete; nothing of it counts",
                object=copy.url,
                remedy=f"`artifactctl reclaim {copy.url} --purge-now` goes on with it",
            )
        if copy.state is not ReplicaState.ARCHIVING or reading.leases(now, artifact_ids=(copy.artifact_id,)):
            continue
        artifact = reading.artifact_by_id(copy.artifact_id)
        if artifact is not None:
            begun = BegunCopy(name=artifact.name, to=copy.url.encode(), archive=copy)
            yield Finding(
                what=f"a copy of it to {copy.url} was begun at {copy.begun_at:%Y-%m-%d %H:%M} UTC and is not complete; "
                "nothing of it counts",
                object=artifact.name,
                remedy=f"`{begun.again}` goes on with it; `{begun.give_up}` removes what was uploaded",
            )
