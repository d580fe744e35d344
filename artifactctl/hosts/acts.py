"""The acting half of a host: the probe's acts in domain types, wherever the probe runs.

Every act holds the root's lock: the caller's when this object granted it, otherwise its own for the time of the act.
"""

import posixpath
from collections.abc import Callable
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostUnreachable
from artifactctl.domain.identity import FileIdentity, ManagedPath
from artifactctl.domain.observation import Observation
from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.domain.text import display_path
from artifactctl.hosts import sightings
from artifactctl.hosts.calling import Calls
from artifactctl.hosts.failing import acting, asking
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

_MARKER_FIELDS = tuple(Marker.__dataclass_fields__)


def _reference(root: Root) -> tuple[bytes, str, str, int]:
    """Return how the probe is told which root: the fields of its `RootReference`."""
    return root.path, root.root_id, root.filesystem_uuid, root.inode


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


class HeldLock:
    """A lock that the probe holds for us; with the connection to it the lock is lost."""

    def __init__(self, calls: Calls, root: Root, token: str) -> None:
        self._calls = calls
        self._root = root
        self._token = token

    def still_held(self) -> bool:
        """Whether the lock is still ours; nobody there to ask is a no."""
        try:
            with asking(f"asking for the lock of {self._root.name}"):
                return bool(self._calls.ask("still_held", self._token))
        except HostUnreachable:
            return False

    def release(self) -> None:
        """Give it up; one that went with the connection is given up already."""
        try:
            with asking(f"releasing the lock of {self._root.name}"):
                self._calls.ask("release", self._token)
        except HostUnreachable:
            return


class Acts:
    """Marker, mirrors, quarantine, restore, purge and the lock."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def read_marker(self, root: bytes) -> Marker | None:
        """Return the root's marker, None when there is none; HostFailure when it cannot be read or parsed."""
        with asking(f"reading the marker of {display_path(root)}"):
            fields = self._calls.ask("read_marker", root)
        return None if fields is None else Marker(**fields)

    def write_marker(self, root: bytes, marker: Marker) -> None:
        """Create `.artifactctl/` (0700) with marker, journal header, ballast and spare operation folders."""
        fields = {name: getattr(marker, name) for name in _MARKER_FIELDS}
        with acting(f"marking {display_path(root)} as a managed root"):
            self._calls.ask("write_marker", root, fields)

    def mirror(self, root: bytes, topic: str, content: bytes) -> None:
        """Durably replace `.artifactctl/<topic>.json`."""
        with acting(f"mirroring {topic} to {display_path(root)}"):
            self._calls.ask("mirror", root, topic, content)

    def read_mirror(self, root: bytes, topic: str) -> bytes | None:
        """Return what `mirror` wrote, None when absent."""
        with asking(f"reading {topic} of {display_path(root)}"):
            content: bytes | None = self._calls.ask("read_mirror", root, topic)
        return content

    def placement(self, root: Root, target: ManagedPath) -> Placement:
        """Say whether and where the target could be set aside; creates nothing."""
        with asking("looking for a place to set aside"):
            return Placement(**self._calls.ask("placement", _reference(root), target.relative))

    def intend(self, root: Root, note: ManifestNote, *, sibling: bool) -> str:
        """Write and fsync the member manifest, journal INTENDED durably. Returns the fingerprint it recorded."""
        details = {**_note_fields(note), "sibling": sibling}
        with acting(f"writing the manifest of {note.name}"):
            fingerprint: str = self._calls.ask("intend", _reference(root), details)
        return fingerprint

    def set_aside(self, root: Root, operation: str) -> SetAside:
        """Rename the target into the operation's folder (NOREPLACE), fsync both parents, journal RENAMED."""
        with acting(f"setting aside {operation}"):
            return SetAside(self._calls.ask("set_aside", _reference(root), operation))

    def confirm(self, root: Root, operation: str) -> None:
        """Journal QUARANTINED: the second look was clear."""
        with acting(f"confirming {operation}"):
            self._calls.ask("confirm", _reference(root), operation)

    def keep(self, root: Root, operation: str, reason: str) -> None:
        """Journal KEPT: busy, and the old path is occupied."""
        with acting(f"keeping {operation}"):
            self._calls.ask("keep", _reference(root), operation, reason)

    def abandon(self, root: Root, operation: str, reason: str) -> None:
        """Journal ABANDONED for an operation whose rename never happened."""
        with acting(f"abandoning {operation}"):
            self._calls.ask("abandon", _reference(root), operation, reason)

    def give_up(self, root: Root, operation: str, reason: str) -> None:
        """Journal LOST for an operation whose content is nowhere any more."""
        with acting(f"giving up {operation}"):
            self._calls.ask("give_up", _reference(root), operation, reason)

    def left_in_purge(self, root: Root, operation: str) -> PurgeRest:
        """Return what a purge that has begun has to leave where it is."""
        with asking(f"looking at what is left of {operation}"):
            left = self._calls.ask("left_in_purge", _reference(root), operation)
        content = posixpath.join(root.path, _bytes(left["content"]))
        paths = tuple(posixpath.join(content, _bytes(path)) if path else content for path in left["paths"])
        return PurgeRest(paths=paths, count=left["count"], problem=left["problem"])

    def observe_quarantined(self, root: Root, operation: str) -> Observation:
        """Return what lies in an operation's quarantine (`.purging` included), as `observe` would.

        Whose root it is was asked when the target was observed: here the marker is compared with the root only.
        """
        with asking(f"observing the quarantine of {operation}"):
            found = self._calls.ask("observe_quarantined", _reference(root), operation)
        of_marker = {"catalog_id": found["catalog_id"], "catalog_epoch": found["catalog_epoch"]}
        return sightings.observation(found["seen"], root, **of_marker)

    def put_back(self, root: Root, operation: str, *, to: ManagedPath | None, reason: str) -> PutBack:
        """Journal RESTORE_INTENDED, rename back (NOREPLACE), fsync both parents, journal RESTORED."""
        relative = None if to is None else to.relative
        with acting(f"restoring {operation}"):
            return PutBack(self._calls.ask("put_back", _reference(root), operation, to=relative, reason=reason))

    def begin_purge(self, root: Root, operation: str) -> None:
        """Journal PURGE_INTENDED, rename the folder to `<operation>.purging`, fsync, journal PURGING."""
        with acting(f"beginning the purge of {operation}"):
            self._calls.ask("begin_purge", _reference(root), operation)

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
        with acting(f"purging {operation}"):
            result = self._calls.ask(
                "purge",
                _reference(root),
                operation,
                files_per_second=files_per_second,
                should_stop=should_stop,
                progress=progress,
            )
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
        with asking(f"reading the journal of {root.name}"):
            rows = self._calls.ask("operations", _reference(root))
        return tuple(_operation_record(row) for row in rows)

    def lock(self, root: Root) -> RootLock:
        """Take the root's exclusive operation lock; `Busy` (with the holder's name) when somebody has it."""
        with asking(f"locking {root.name}"):
            return HeldLock(self._calls, root, self._calls.ask("lock", _reference(root)))


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
