"""One operation of a root: what its journal says, and where its bytes are now."""

import posixpath
from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import FileIdentity, ManagedPath
from artifactctl.domain.operations import JournalEvent, OperationRecord
from tests.fakes.disk import Disk, Spot
from tests.fakes.ledger import Ledger, Manifest

CONTENT = b"content"
PURGING = b".purging"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The journal's view. `intended` has the facts of the first event; `folder` is absolute, without `.purging`."""

    name: str
    root: bytes
    intended: dict[str, str]
    last: dict[str, str]
    folder: bytes
    was_kept: bool

    @classmethod
    def read(cls, ledger: Ledger, name: str) -> "Operation":
        """Return the operation; HostFailure when the journal does not know it."""
        events = ledger.events().get(name)
        if not events:
            raise HostFailure(f"the journal of {ledger.root!r} has no operation {name}")
        return cls.from_events(ledger, name, events)

    @classmethod
    def from_events(cls, ledger: Ledger, name: str, events: list[dict[str, str]]) -> "Operation":
        """Return the operation that these events tell of."""
        original = ledger.root + b"/" + events[0]["original"].encode("latin-1")
        folder = folder_of(ledger, original, name, sibling=bool(events[0]["sibling"]))
        was_kept = any(event["event"] == JournalEvent.KEPT.value for event in events)
        return cls(name=name, root=ledger.root, intended=events[0], last=events[-1], folder=folder, was_kept=was_kept)

    @property
    def event(self) -> JournalEvent:
        """The last event."""
        return JournalEvent(self.last["event"])

    def require(self, *allowed: JournalEvent) -> None:
        """Raise HostFailure when the last event is none of those that permit the act."""
        if self.event not in allowed:
            raise HostFailure(f"operation {self.name} is {self.event.value}: not possible any more, or not yet")

    @property
    def original(self) -> bytes:
        """The absolute path that the target had."""
        return self.root + b"/" + self.intended["original"].encode("latin-1")

    @property
    def content(self) -> bytes:
        """Where the bytes are while in quarantine."""
        return self.folder + b"/" + CONTENT

    @property
    def purging_folder(self) -> bytes:
        """The folder once a purge has begun."""
        return self.folder + PURGING

    @property
    def purging_content(self) -> bytes:
        """Where the bytes are once a purge has begun."""
        return self.purging_folder + b"/" + CONTENT

    @property
    def destination(self) -> bytes | None:
        """The absolute path that the last restore went for, None when there was none."""
        told = self.last.get("to", "")
        return self.root + b"/" + told.encode("latin-1") if told else None

    def manifest(self, ledger: Ledger) -> Manifest | None:
        """Return the manifest from wherever the folder is now, None when it is gone or damaged."""
        digest = self.intended["manifest"]
        return ledger.read_manifest(self.folder, digest) or ledger.read_manifest(self.purging_folder, digest)

    def matches(self, spot: Spot | None) -> bool | None:
        """Whether it is the recorded inode; None when nothing is there or the filesystem has no birth times."""
        if spot is None:
            return None
        same_number = spot.identity.inode == int(self.intended["inode"])
        if not same_number or spot.mount.volume.uuid != self.intended["filesystem_uuid"]:
            return False
        return int(self.intended["birth_ns"]) == spot.inode.birth_ns if spot.mount.volume.has_birth_time else None


def folder_of(ledger: Ledger, original: bytes, operation: str, *, sibling: bool) -> bytes:
    """Return where an operation keeps what it set aside."""
    if sibling:
        return posixpath.dirname(original) + b"/.artifactctl-quarantine-" + operation.encode()
    return ledger.quarantine + b"/" + operation.encode()


def record_of(disk: Disk, ledger: Ledger, operation: Operation) -> OperationRecord:
    """Return the operation with a fresh look at every place its bytes can be."""
    intended = operation.intended
    at_original = disk.look(operation.original)
    in_quarantine = disk.look(operation.content)
    aside = in_quarantine or disk.look(operation.purging_content)
    birth_ns, ctime_ns = int(intended["birth_ns"]), int(intended["ctime_ns"])
    return OperationRecord(
        operation=operation.name,
        event=operation.event,
        at=datetime.fromisoformat(operation.last["at"]),
        original=ManagedPath.within(operation.root, operation.original).relative,
        placed=posixpath.relpath(operation.content, operation.root),
        identity=FileIdentity(
            filesystem_uuid=intended["filesystem_uuid"],
            inode=int(intended["inode"]),
            birth_ns=birth_ns or None,
            ctime_ns=ctime_ns or None,
        ),
        fingerprint=intended["fingerprint"],
        name=intended["name"],
        allocated_bytes=int(intended["allocated_bytes"]),
        catalog_id=intended["catalog_id"],
        at_original=at_original is not None,
        original_matches=operation.matches(at_original),
        in_quarantine=in_quarantine is not None,
        quarantine_matches=operation.matches(aside),
        in_purging=disk.exists(operation.purging_folder),
        manifest_intact=operation.manifest(ledger) is not None,
        restored_to=operation.last.get("to", "").encode("latin-1"),
        was_kept=operation.was_kept,
    )
