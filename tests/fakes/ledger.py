"""A root's own folder on the fake disk: marker, mirrors, journal, manifests, spare folders, ballast.

Everything is a file or folder of the fake disk, so copying a root copies it too, and a full disk concerns it too.
"""

import dataclasses
import errno
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import MARKER_DIRECTORY, FileIdentity, ManagedPath
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import ManifestNote, Marker
from tests.fakes.disk import Disk
from tests.fakes.steps import Kernel
from tests.fakes.volume import KIB

SPARE_FOLDERS = 4
BALLAST_FILES = 8
BALLAST_BYTES = 64 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One member as it was when the removal was intended; `type` is an `EntryType` value."""

    relative: bytes
    type: str
    inode: int
    birth_ns: int
    size_bytes: int
    modified_ns: int
    changed_ns: int
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The note and the members of one operation."""

    note: ManifestNote
    members: tuple[ManifestEntry, ...]


class Ledger:
    """What one root remembers of itself."""

    def __init__(self, disk: Disk, kernel: Kernel, root: bytes) -> None:
        self.disk = disk
        self.kernel = kernel
        self.root = root
        self.folder = root + b"/" + MARKER_DIRECTORY
        self.quarantine = self.folder + b"/quarantine"
        self.journal = self.folder + b"/journal"

    def create(self, marker: Marker) -> None:
        """Make the folder with all that must not need space later."""
        for folder in (self.folder, self.quarantine):
            if not self.disk.exists(folder):
                self.kernel.mkdir(folder)
        for number in range(SPARE_FOLDERS):
            if not self.disk.exists(self._spare(number)):
                self.kernel.mkdir(self._spare(number))
        for number in range(BALLAST_FILES):
            self.kernel.write(self._ballast(number), b"\0" * BALLAST_BYTES)
        if not self.disk.exists(self.journal):
            header = {"root_id": marker.root_id, "filesystem_uuid": marker.filesystem_uuid, "inode": marker.inode}
            self.kernel.write(self.journal, json.dumps(header).encode() + b"\n")
        self.kernel.write(self.folder + b"/root.json", json.dumps(dataclasses.asdict(marker)).encode())
        self.kernel.fsync(self.folder)

    def marker(self) -> Marker | None:
        """Return the marker, None when there is none."""
        content = self._read(self.folder + b"/root.json")
        if content is None:
            return None
        try:
            return Marker(**json.loads(content))
        except (ValueError, TypeError) as error:
            raise HostFailure(f"the marker of {self.root!r} cannot be parsed") from error

    def mirror(self, topic: str, content: bytes) -> None:
        """Replace a mirror durably, with the ballast when the disk is full."""
        self._with_ballast(lambda: self.kernel.write(self._mirror(topic), content))

    def read_mirror(self, topic: str) -> bytes | None:
        """Return a mirror, None when it was never written."""
        return self._read(self._mirror(topic))

    def record(self, operation: str, event: JournalEvent, at: datetime, **facts: str) -> None:
        """Append one event durably."""
        line = {"operation": operation, "event": event.value, "at": at.isoformat(), **facts}
        self._with_ballast(lambda: self.kernel.append(self.journal, json.dumps(line).encode() + b"\n"))

    def events(self) -> dict[str, list[dict[str, str]]]:
        """Return the events of each operation in order; HostFailure when it is not this root's journal."""
        content = self._read(self.journal)
        if content is None:
            raise HostFailure(f"{self.root!r} has no journal", remedy="run `artifactctl root add` for it")
        try:
            header, *lines = (json.loads(line) for line in content.splitlines())
        except ValueError as error:
            raise HostFailure(f"the journal of {self.root!r} cannot be read") from error
        here = self.disk.find(self.root)
        if (header["filesystem_uuid"], header["inode"]) != (here.mount.volume.uuid, here.number):
            raise HostFailure(
                f"the journal in {self.root!r} belongs to another folder: this root is a copy",
                remedy="run `artifactctl doctor`",
            )
        found: dict[str, list[dict[str, str]]] = {}
        for line in lines:
            found.setdefault(line["operation"], []).append(line)
        return found

    def note_own_change(self, line: str) -> None:
        """Record what an act of ours did to an inode with several names."""
        if not self.disk.exists(self._own_changes):
            self._with_ballast(lambda: self.kernel.write(self._own_changes, b""))
        self._with_ballast(lambda: self.kernel.append(self._own_changes, line.encode() + b"\n"))

    def own_changes(self) -> list[bytes]:
        """Return what was recorded so, oldest first."""
        return (self._read(self._own_changes) or b"").splitlines()

    @property
    def _own_changes(self) -> bytes:
        return self.folder + b"/own-changes"

    def make_folder(self, path: bytes) -> None:
        """Make an operation's folder; on a full disk a spare one is renamed to it."""
        try:
            self.kernel.mkdir(path)
        except OSError as error:
            spare = next((self._spare(n) for n in range(SPARE_FOLDERS) if self.disk.exists(self._spare(n))), None)
            if error.errno != errno.ENOSPC or spare is None:
                raise
            self.kernel.rename(spare, path)

    def write_manifest(self, folder: bytes, manifest: Manifest) -> str:
        """Write the manifest durably and return its digest."""
        content = json.dumps(dataclasses.asdict(manifest), default=_as_text).encode()
        self._with_ballast(lambda: self.kernel.write(folder + b"/manifest.json", content))
        self.kernel.fsync(folder)
        return hashlib.sha256(content).hexdigest()

    def read_manifest(self, folder: bytes, digest: str) -> Manifest | None:
        """Return the manifest, None when it is gone or not what was written."""
        content = self._read(folder + b"/manifest.json")
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            return None
        value = json.loads(content)
        members = tuple(
            ManifestEntry(**{**member, "relative": _as_bytes(member["relative"])}) for member in value["members"]
        )
        return Manifest(note=_note_from(value["note"]), members=members)

    def _with_ballast(self, write: Any) -> None:
        """Do it; on a full disk give up ballast for it."""
        for number in range(BALLAST_FILES + 1):
            try:
                write()
                return
            except OSError as error:
                if error.errno != errno.ENOSPC or number == BALLAST_FILES:
                    raise
            if self.disk.exists(self._ballast(number)):
                self.kernel.unlink(self._ballast(number))

    def _read(self, path: bytes) -> bytes | None:
        spot = self.disk.look(path)
        if spot is None:
            return None
        if spot.inode.read_error:
            raise HostFailure(f"{path!r} cannot be read: {errno.errorcode[spot.inode.read_error]}")
        return spot.inode.content

    def _mirror(self, topic: str) -> bytes:
        return self.folder + b"/" + topic.encode() + b".json"

    def _spare(self, number: int) -> bytes:
        return self.quarantine + b"/spare-%d" % number

    def _ballast(self, number: int) -> bytes:
        return self.folder + b"/ballast-%d" % number


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    assert isinstance(value, bytes)
    return value.decode("latin-1")


def _as_bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _note_from(value: dict[str, Any]) -> ManifestNote:
    target = ManagedPath(root=_as_bytes(value["target"]["root"]), relative=_as_bytes(value["target"]["relative"]))
    identity = FileIdentity(**value["identity"])
    return ManifestNote(**{**value, "target": target, "identity": identity, "at": datetime.fromisoformat(value["at"])})
