"""The acting half of this machine: the probe's acts in domain types.

Every act holds the root's lock: the caller's when this object granted it, otherwise its own for the time of the act.
"""

import errno
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import Busy, HostDenied, HostFailure, HostReadOnly, HostRefused
from artifactctl.domain.identity import FileIdentity, ManagedPath
from artifactctl.domain.observation import Observation
from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.domain.text import display_path, printable
from artifactctl.hosts import sightings
from artifactctl.hosts.probe import (
    ledger,
    leftovers,
    losing,
    marked,
    marker,
    mirrors,
    observing,
    own_changes,
    placing,
    purge,
    quarantine,
    restore,
    rootfolder,
    rootlock,
)
from artifactctl.hosts.probe.emptying import Pace
from artifactctl.hosts.probe.failures import ProbeFailure, RootBusy
from artifactctl.hosts.probe.places import RootReference
from artifactctl.hosts.protocol import (
    ManifestNote,
    Marker,
    Placement,
    PurgeRest,
    PurgeResult,
    PutBack,
    RootLock,
    SetAside,
)

_NO_ROOM = {
    errno.ENOSPC: "the filesystem is full to its last block, and what artifactctl keeps for that is used up: give it "
    "some MiB by hand, then run the command again",
    errno.EDQUOT: "the quota is used up: give it some MiB by hand, then run the command again",
}


@contextmanager
def _failures(doing: str) -> Iterator[None]:
    """Turn what the probe raises into the errors of the domain."""
    try:
        yield
    except RootBusy as error:
        raise Busy(error.message, remedy=error.remedy) from error
    except ProbeFailure as error:
        raise HostRefused(error.message, remedy=error.remedy) from error
    except OSError as error:
        where = f" ({_printable(error.filename)})" if error.filename else ""
        said = f"{doing} failed: {error.strerror}{where}"
        if isinstance(error, PermissionError):
            raise HostDenied(said, remedy="run the same command with sudo, or as the owner of the root") from error
        if error.errno == errno.EROFS:
            remedy = "mount it read-write (the kernel's log says whether an error made it read-only)"
            raise HostReadOnly(said, remedy=remedy) from error
        if error.errno in _NO_ROOM:
            raise HostRefused(said, remedy=_NO_ROOM[error.errno]) from error
        raise HostFailure(said, remedy="`artifactctl doctor` shows what was left unfinished") from error


def _printable(name: str | bytes | int) -> str:
    return display_path(name) if isinstance(name, bytes) else printable(str(name))


def _reference(root: Root) -> RootReference:
    return RootReference(root.path, root.root_id, root.filesystem_uuid, root.inode)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


class LocalLock:
    """A held lock; its host object forgets it when it is released."""

    def __init__(self, held: rootlock.RootLock, forget: Callable[[], None]) -> None:
        self._held = held
        self._forget = forget

    def still_held(self) -> bool:
        """Whether the lock is still ours."""
        with _failures("asking for the root's lock"):
            return self._held.still_held()

    def release(self) -> None:
        """Give it up."""
        self._forget()
        with _failures("releasing the root's lock"):
            self._held.release()


class LocalAct:
    """Marker, mirrors, quarantine, restore, purge and the lock, on this machine."""

    def __init__(self) -> None:
        self._locks: dict[bytes, LocalLock] = {}

    def read_marker(self, root: bytes) -> Marker | None:
        """Return the root's marker, None when there is none; HostFailure when it cannot be read or parsed."""
        with _failures(f"reading the marker of {_printable(root)}"):
            fields = marker.read_marker(root)
        return None if fields is None else Marker(**fields)

    def write_marker(self, root: bytes, marker_: Marker) -> None:
        """Create `.artifactctl/` (0700) with marker, journal header, ballast and spare operation folders."""
        fields = {name: getattr(marker_, name) for name in marker.FIELDS}
        with _failures(f"marking {_printable(root)} as a managed root"):
            marker.write_marker(root, fields)

    def mirror(self, root: bytes, topic: str, content: bytes) -> None:
        """Durably replace `.artifactctl/<topic>.json`."""
        with _failures(f"mirroring {topic} to {_printable(root)}"), rootfolder.open_private(root) as private_fd:
            mirrors.write_mirror(private_fd, topic, content)

    def read_mirror(self, root: bytes, topic: str) -> bytes | None:
        """Return what `mirror` wrote, None when absent."""
        with _failures(f"reading {topic} of {_printable(root)}"), rootfolder.open_private(root) as private_fd:
            return mirrors.read_mirror(private_fd, topic)

    def placement(self, root: Root, target: ManagedPath) -> Placement:
        """Say whether and where the target could be set aside; creates nothing."""
        with _failures("looking for a place to set aside"), self._opened(root) as folder:
            return Placement(**placing.placement(folder, target.relative))

    def intend(self, root: Root, note: ManifestNote, *, sibling: bool) -> str:
        """Write and fsync the member manifest, journal INTENDED durably. Returns the fingerprint it recorded."""
        details = _note_fields(note)
        with self._acting(root, f"writing the manifest of {note.name}") as (folder, _):
            return quarantine.intend(folder, {**details, "sibling": sibling})

    def set_aside(self, root: Root, operation: str) -> SetAside:
        """Rename the target into the operation's folder (NOREPLACE), fsync both parents, journal RENAMED."""
        with self._acting(root, f"setting aside {operation}") as (folder, _):
            return SetAside(quarantine.set_aside(folder, operation))

    def confirm(self, root: Root, operation: str) -> None:
        """Journal QUARANTINED: the second look was clear."""
        with self._acting(root, f"confirming {operation}") as (folder, _):
            quarantine.confirm(folder, operation)

    def keep(self, root: Root, operation: str, reason: str) -> None:
        """Journal KEPT: busy, and the old path is occupied."""
        with self._acting(root, f"keeping {operation}") as (folder, _):
            quarantine.keep(folder, operation, reason)

    def abandon(self, root: Root, operation: str, reason: str) -> None:
        """Journal ABANDONED for an operation whose rename never happened."""
        with self._acting(root, f"abandoning {operation}") as (folder, _):
            quarantine.abandon(folder, operation, reason)

    def give_up(self, root: Root, operation: str, reason: str) -> None:
        """Journal LOST for an operation whose content is nowhere any more."""
        with self._acting(root, f"giving up {operation}") as (folder, _):
            losing.give_up(folder, operation, reason)

    def left_in_purge(self, root: Root, operation: str) -> PurgeRest:
        """Return what a purge that has begun has to leave where it is."""
        with _failures(f"looking at what is left of {operation}"), self._opened(root) as folder:
            left = leftovers.left_in_purge(folder, operation)
        content = posixpath.join(root.path, _bytes(left["content"]))
        paths = tuple(posixpath.join(content, _bytes(path)) if path else content for path in left["paths"])
        return PurgeRest(paths=paths, count=left["count"], problem=left["problem"])

    def observe_quarantined(self, root: Root, operation: str) -> Observation:
        """Return what lies in an operation's quarantine (`.purging` included), as `observe` would.

        Whose root it is was asked when the target was observed: here the marker is compared with the root only.
        Members changed by our own acts through other names of them are shown as the manifest has them.
        """
        with _failures(f"observing the quarantine of {operation}"), self._opened(root) as folder:
            relative, original = ledger.lies_at(folder, operation)
            former = posixpath.join(root.path, original)
            excuses = own_changes.Excuses(folder, operation)
            wire = observing.observe_path(root.path, relative, also_known_as=(former,), excuse=excuses.of)
            found = marker.read_marker(root.path) or {"catalog_id": "", "catalog_epoch": 0}
        return sightings.observation(wire, root, catalog_id=found["catalog_id"], catalog_epoch=found["catalog_epoch"])

    def put_back(self, root: Root, operation: str, *, to: ManagedPath | None, reason: str) -> PutBack:
        """Journal RESTORE_INTENDED, rename back (NOREPLACE), fsync both parents, journal RESTORED."""
        relative = None if to is None else to.relative
        with self._acting(root, f"restoring {operation}") as (folder, _):
            return PutBack(restore.put_back(folder, operation, to=relative, reason=reason))

    def begin_purge(self, root: Root, operation: str) -> None:
        """Journal PURGE_INTENDED, rename the folder to `<operation>.purging`, fsync, journal PURGING."""
        with self._acting(root, f"beginning the purge of {operation}") as (folder, _):
            purge.begin_purge(folder, operation)

    def purge(
        self,
        root: Root,
        operation: str,
        *,
        files_per_second: float | None = None,
        should_stop: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PurgeResult:
        """Unlink what matches the manifest, bottom up, relative to descriptors; fsync parents; journal PURGED."""
        with self._acting(root, f"purging {operation}") as (folder, lock):
            pace = Pace(still_held=lock.still_held, should_stop=should_stop, files_per_second=files_per_second)
            result = purge.purge(folder, operation, pace=pace, progress=progress)
        return PurgeResult(
            complete=result["complete"],
            removed_files=result["removed_files"],
            removed_bytes=result["removed_bytes"],
            mismatched=tuple(_bytes(path) for path in result["mismatched"]),
            errors=tuple(result["errors"]),
            interrupted=result["interrupted"],
        )

    def operations(self, root: Root) -> tuple[OperationRecord, ...]:
        """Return every operation in the root's journal with where its bytes are now."""
        with _failures(f"reading the journal of {root.name}"), self._opened(root) as folder:
            return tuple(_operation_record(row) for row in ledger.operations(folder))

    def lock(self, root: Root) -> RootLock:
        """Take the root's exclusive operation lock; `Busy` (with the holder's name) when somebody has it."""
        lock = self._take_lock(root, lambda: self._forget(root.path))
        self._locks[root.path] = lock
        return lock

    def _take_lock(self, root: Root, forget: Callable[[], None]) -> LocalLock:
        with _failures(f"locking {root.name}"), self._opened(root) as folder:
            return LocalLock(rootlock.RootLock(folder), forget)

    def _forget(self, path: bytes) -> None:
        self._locks.pop(path, None)

    @contextmanager
    def _opened(self, root: Root) -> Iterator[rootfolder.RootFolder]:
        with rootfolder.RootFolder(_reference(root)) as folder:
            marked.require_original(folder)
            yield folder

    @contextmanager
    def _acting(self, root: Root, doing: str) -> Iterator[tuple[rootfolder.RootFolder, RootLock]]:
        """Open the root for a change, under the caller's lock or one of our own."""
        held = self._locks.get(root.path)
        if held is not None and not held.still_held():
            raise HostFailure(
                f"{doing} was not begun: the lock of {root.name} was lost to somebody else",
                remedy="`artifactctl doctor` shows unfinished operations; then try again",
            )
        lock = held or self._take_lock(root, lambda: None)
        try:
            with _failures(doing), self._opened(root) as folder:
                yield folder, lock
        finally:
            if held is None:
                lock.release()


def _note_fields(note: ManifestNote) -> dict[str, Any]:
    identity = note.identity
    return {
        "operation": note.operation,
        "relative": _text(note.target.relative),
        "name": note.name,
        "kind": note.kind,
        "identity": {
            "filesystem_uuid": identity.filesystem_uuid,
            "inode": identity.inode,
            "birth_ns": identity.birth_ns,
            "ctime_ns": identity.ctime_ns,
            "subvolume": identity.subvolume,
        },
        "planned_fingerprint": note.fingerprint,
        "allocated_bytes": note.allocated_bytes,
        "root_id": note.root_id,
        "catalog_id": note.catalog_id,
        "reason": note.reason,
        "actor": note.actor,
        "evidence_json": note.evidence_json,
        "at": note.at.isoformat(),
    }


def _operation_record(row: dict[str, Any]) -> OperationRecord:
    return OperationRecord(
        operation=row["operation"],
        event=JournalEvent(row["event"]),
        at=datetime.fromisoformat(row["at"]),
        original=_bytes(row["original"]),
        placed=_bytes(row["placed"]),
        identity=FileIdentity(**row["identity"]),
        fingerprint=row["fingerprint"],
        name=row["name"],
        allocated_bytes=row["allocated_bytes"],
        catalog_id=row["catalog_id"],
        at_original=row["at_original"],
        original_matches=row["original_matches"],
        in_quarantine=row["in_quarantine"],
        quarantine_matches=row["quarantine_matches"],
        in_purging=row["in_purging"],
        manifest_intact=row["manifest_intact"],
        restored_to=_bytes(row["restored_to"]),
        was_kept=row["was_kept"],
    )
