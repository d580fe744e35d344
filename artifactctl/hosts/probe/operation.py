"""One operation on an open root: what the journal says of it and where its folder and its bytes are."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import kernel, note, places, subvolumes
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.journal import Journal, Record
from artifactctl.hosts.probe.kernel import FileStatus
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, open_private_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FINISHED = ("restored", "purged", "abandoned", "lost")
INTENT_FIELDS = (
    "relative",
    "sibling",
    "identity",
    "fingerprint",
    "name",
    "allocated_bytes",
    "catalog_id",
)


class Known(NamedTuple):
    """An operation: the fields of its intent, its last event, where a restore put it, whether it was ever `kept`."""

    operation: str
    intent: Record
    event: str
    at: str
    restored_to: str = ""
    was_kept: bool = False

    @property
    def original(self) -> bytes:
        """The path below the root that the target was taken from."""
        return os.fsencode(self.intent["relative"])


def replay(records: Iterable[Record]) -> Dict[str, Known]:
    """Return every operation of a journal with its last event."""
    known: Dict[str, Known] = {}
    for record in records:
        name, event = record["operation"], record["event"]
        if "identity" in record:  # an intent, or a quarantine found by its note
            intent = {field: record[field] for field in INTENT_FIELDS}
            known[name] = Known(name, intent, record["found"] if event == "imported" else event, record["at"])
        elif name in known:
            to = record.get("to", known[name].restored_to)
            kept = known[name].was_kept or event == "kept"
            known[name] = known[name]._replace(event=event, at=record["at"], restored_to=to, was_kept=kept)
    return known


class Standing(NamedTuple):
    """What stands at a name, and the subvolume it is in ("" on a filesystem that has none)."""

    status: FileStatus
    subvolume: str


def matches(identity: Dict[str, Any], found: Standing) -> bool:
    """Whether it is the recorded inode. Without a birth time the number alone speaks: a rename changes the ctime.

    Identities that were journalled before subvolumes were do not name one.
    """
    if found.status.inode != identity["inode"] or identity.get("subvolume", "") not in ("", found.subvolume):
        return False
    return identity["birth_ns"] is None or found.status.birth_ns == identity["birth_ns"]


def matches_untouched(identity: Dict[str, Any], found: Standing) -> bool:
    """The same before any rename of ours, where the change time can stand in for a missing birth time."""
    untouched = identity["birth_ns"] is not None or found.status.changed_ns == identity["ctime_ns"]
    return untouched and matches(identity, found)


def found_at(dir_fd: int, name: bytes) -> Optional[Standing]:
    """Return what stands at the name, None when nothing."""
    try:
        status = kernel.statx(name, dir_fd)
        return Standing(status, subvolumes.name_at(dir_fd, name, status))
    except FileNotFoundError:
        return None


class Operation:
    """An operation that is to be acted on; ProbeFailure when neither journal nor quarantine knows it."""

    def __init__(self, root: RootFolder, name: str) -> None:
        self.root = root
        self.name = name
        self.journal = Journal(root)
        self.folder = places.operation_folder(name)
        known = replay(self.journal.read().records).get(name) or self._import()
        if known is None:
            raise ProbeFailure(
                f"there is no operation {name} on this root", remedy="`artifactctl quarantine ls` shows what there is"
            )
        self.known = known

    def _import(self) -> Optional[Known]:
        """Take up a quarantine that the journal does not know, from its note, so that it can be restored."""
        known = from_note(self.root, self.folder, self.name)
        if known is not None:
            details = {**known.intent, "found": known.event}
            self.journal.append(self.name, "imported", details)
        return known

    @property
    def event(self) -> str:
        """The last journalled event."""
        return self.known.event

    @property
    def identity(self) -> Dict[str, Any]:
        """The recorded identity of the target."""
        identity: Dict[str, Any] = self.known.intent["identity"]
        return identity

    def record(self, event: str, **details: Any) -> None:
        """Journal an event durably."""
        self.journal.append(self.name, event, details)
        self.known = self.known._replace(event=event)

    def require(self, allowed: Tuple[str, ...], act: str) -> None:
        """ProbeFailure when the last event is none of those that permit the act."""
        if self.event not in allowed:
            raise ProbeFailure(
                f"operation {self.name} cannot be {act}: it is {self.event}",
                remedy="`artifactctl doctor` shows unfinished operations and what recovery will do",
            )

    def open_folder(self) -> "Tuple[int, bool]":
        """Return (descriptor of the operation's folder, whether it is `.purging`)."""
        return open_operation_folder(self.root, self.folder)

    def open_holding(self, folder_fd: int) -> int:
        """Open the folder that holds the content: the operation's own, or the sibling beside the target."""
        if not self.known.intent["sibling"]:
            return os.dup(folder_fd)
        return open_sibling(self.root, self.known)

    def content(self) -> Optional[Standing]:
        """Return what lies in quarantine, None when nothing."""
        return content_of(self.root, self.known)[0]


def open_operation_folder(root: RootFolder, folder: bytes) -> "Tuple[int, bool]":
    """Return (descriptor, whether purging); FileNotFoundError when there is no folder under either name."""
    try:
        return os.open(folder, _FOLDER, dir_fd=root.quarantine_fd), False
    except FileNotFoundError:
        return os.open(folder + places.PURGING_SUFFIX, _FOLDER, dir_fd=root.quarantine_fd), True


def open_sibling(root: RootFolder, known: Known) -> int:
    """Open the folder beside the target; FileNotFoundError when it is not there."""
    parent_fd, _ = root.open_parent(known.original)
    with closing(parent_fd):
        return open_private_folder(parent_fd, root.reference.path, places.sibling_folder(known.operation))


def content_of(root: RootFolder, known: Known) -> "Tuple[Optional[Standing], bool]":
    """Return (what lies in an operation's quarantine, whether its folder is `.purging`).

    A sibling folder keeps its content also when somebody removed the operation's own folder.
    """
    purging = False
    try:
        folder_fd, purging = open_operation_folder(root, places.operation_folder(known.operation))
    except FileNotFoundError:
        if not known.intent["sibling"]:
            return None, False
    else:
        with closing(folder_fd):
            if not known.intent["sibling"]:
                return found_at(folder_fd, places.CONTENT), purging
    try:
        holding_fd = open_sibling(root, known)
    except (FileNotFoundError, NotADirectoryError):
        return None, purging
    with closing(holding_fd):
        return found_at(holding_fd, places.CONTENT), purging


def from_note(root: RootFolder, folder: bytes, name: str) -> Optional[Known]:
    """Return an operation as its note tells it, None when its folder holds no content or no readable note."""
    try:
        folder_fd, purging = open_operation_folder(root, folder)
    except FileNotFoundError:
        return None
    with closing(folder_fd):
        found = note.read(folder_fd, name)
    if found is None:
        return None
    known = Known(name, {field: found[field] for field in INTENT_FIELDS}, "renamed", found["at"])
    if purging:
        known = known._replace(event="purging")
    return known if content_of(root, known)[0] is not None else None
