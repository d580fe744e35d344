"""Setting aside and putting back. Every method may be called again after a kill: it finishes what was begun."""

import errno
import posixpath
import re
from enum import StrEnum
from functools import partial
from typing import TypeVar

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import FINISHED, JournalEvent
from artifactctl.hosts.protocol import EntryType, ManifestNote, Placement, PutBack, SetAside
from tests.fakes.clock import FakeClock
from tests.fakes.digests import fingerprint
from tests.fakes.disk import Disk, Spot
from tests.fakes.ledger import Ledger, Manifest, ManifestEntry
from tests.fakes.operation import Operation, folder_of
from tests.fakes.own_changes import witnessed
from tests.fakes.processes import ProcessTable
from tests.fakes.steps import Kernel
from tests.fakes.walking import members_of

OPERATION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
Outcome = TypeVar("Outcome", bound=StrEnum)

SET_ASIDE_ERRORS = {
    errno.ENOENT: SetAside.ABSENT,
    errno.EXDEV: SetAside.CROSS_DEVICE,
    errno.ENOSPC: SetAside.NO_SPACE,
    errno.EDQUOT: SetAside.NO_SPACE,
    errno.EPERM: SetAside.DENIED,
    errno.EACCES: SetAside.DENIED,
    errno.EROFS: SetAside.DENIED,
    errno.EBUSY: SetAside.MOUNTED,
    errno.EEXIST: SetAside.OCCUPIED,
}
PUT_BACK_ERRORS = {
    errno.ENOENT: PutBack.ABSENT,
    errno.EXDEV: PutBack.CROSS_DEVICE,
    errno.EPERM: PutBack.DENIED,
    errno.EACCES: PutBack.DENIED,
    errno.EROFS: PutBack.DENIED,
    errno.EEXIST: PutBack.OCCUPIED,
}


class Quarantine:
    """The quarantine of one root."""

    def __init__(self, disk: Disk, kernel: Kernel, processes: ProcessTable, clock: FakeClock, root: bytes) -> None:
        self.disk = disk
        self.kernel = kernel
        self.processes = processes
        self.clock = clock
        self.ledger = Ledger(disk, kernel, root)

    def placement(self, target: ManagedPath) -> Placement:
        """Say where the target could be renamed to without leaving its mount."""
        spot = self.disk.find(target.absolute)
        folder, _ = self.disk.parent(target.absolute)
        if folder.mount is not spot.mount:
            return Placement(possible=False, sibling=False, detail=f"{target.absolute!r} is a mount point")
        if folder.mount.read_only:
            return Placement(possible=False, sibling=False, detail=f"{folder.mount.path!r} is mounted read-only")
        quarantine = self.disk.look(self.ledger.quarantine)
        if quarantine is not None and quarantine.mount is spot.mount:
            return Placement(possible=True, sibling=False, detail="on the same mount as the root's own folder")
        return Placement(possible=True, sibling=True, detail="another mount than the root: beside the target")

    def intend(self, note: ManifestNote, *, sibling: bool) -> str:
        """Write the manifest, then the journal; the folder is there before either."""
        if not OPERATION_NAME.fullmatch(note.operation):
            raise HostFailure(f"{note.operation!r} cannot name an operation")
        if note.operation in self.ledger.events():
            raise HostFailure(f"operation {note.operation} is already in the journal")
        path = note.target.absolute
        top = self.disk.look(path)
        if top is None or self.disk.first_link(posixpath.dirname(path)) is not None:
            raise HostFailure(f"nothing stands at {path!r}, or it is reached through a link")
        members = list(members_of(self.disk, path))
        seen = fingerprint(top, members)
        folder = folder_of(self.ledger, path, note.operation, sibling=sibling)
        if not self.disk.exists(folder):
            self.ledger.make_folder(folder)
        manifest = Manifest(note=note, members=tuple(_entry(relative, spot) for relative, spot in members))
        digest = self.ledger.write_manifest(folder, manifest)
        self.kernel.fsync(posixpath.dirname(folder))
        self.record(note.operation, JournalEvent.INTENDED, **_facts(note, top, seen, digest, sibling=sibling))
        return seen

    def set_aside(self, name: str) -> SetAside:
        """Rename the target into the operation's folder."""
        operation = Operation.read(self.ledger, name)
        operation.require(JournalEvent.INTENDED)
        spot = self.disk.look(operation.original)
        aside = self.disk.look(operation.content)
        if aside is None:
            refusal = self._refusal(operation, spot)
            if refusal is not None:
                return refusal
            try:
                self._rename(operation.original, operation.content, whole=True)
            except OSError as error:
                return _outcome(error, SET_ASIDE_ERRORS)
        elif operation.matches(aside) is False or spot is not None:
            return SetAside.OCCUPIED
        self._sync_both(operation.original, operation.content)
        self.record(name, JournalEvent.RENAMED)
        return SetAside.DONE

    def _refusal(self, operation: Operation, spot: Spot | None) -> SetAside | None:
        if spot is None:
            return SetAside.ABSENT
        reached_by_link = self.disk.first_link(posixpath.dirname(operation.original)) is not None
        if reached_by_link or operation.matches(spot) is False:
            return SetAside.REPLACED
        if spot.inode.type is EntryType.FILE and self.processes.refuses_lease(spot):
            return SetAside.IN_USE
        return None

    def confirm(self, name: str) -> None:
        """Journal that it stays in quarantine: the second look was clear, or a restore or purge did not begin."""
        operation = Operation.read(self.ledger, name)
        operation.require(
            JournalEvent.RENAMED, JournalEvent.QUARANTINED, JournalEvent.RESTORE_INTENDED, JournalEvent.PURGE_INTENDED
        )
        if not self.disk.exists(operation.content):
            raise HostFailure(f"nothing of operation {name} lies in quarantine")
        self.record(name, JournalEvent.QUARANTINED)

    def keep(self, name: str, reason: str) -> None:
        """Journal that it is in use while its old path is taken."""
        Operation.read(self.ledger, name).require(
            JournalEvent.RENAMED, JournalEvent.QUARANTINED, JournalEvent.RESTORE_INTENDED, JournalEvent.KEPT
        )
        self.record(name, JournalEvent.KEPT, reason=reason)

    def put_back(self, name: str, *, to: ManagedPath | None, reason: str) -> PutBack:
        """Rename what was set aside to where it was, or to `to`."""
        operation = Operation.read(self.ledger, name)
        if self.disk.exists(operation.purging_folder) or operation.event is JournalEvent.PURGED:
            return PutBack.PURGING
        destination = to.absolute if to else operation.original
        aside = self.disk.look(operation.content)
        if aside is None:
            return self._finish_put_back(operation, destination)
        refusal = self._refusal_to_return(operation, aside, destination)
        if refusal is not None:
            return refusal
        told = destination[len(self.ledger.root) + 1 :].decode("latin-1")
        self.record(name, JournalEvent.RESTORE_INTENDED, to=told, reason=reason)
        try:
            self._rename(operation.content, destination)
        except OSError as error:
            self.record(name, operation.event, reason="the rename was refused")
            return _outcome(error, PUT_BACK_ERRORS)
        return self._returned(operation, destination, told)

    def _refusal_to_return(self, operation: Operation, aside: Spot, destination: bytes) -> PutBack | None:
        if operation.matches(aside) is False:
            return PutBack.REPLACED
        folder = posixpath.dirname(destination)
        if not self.disk.exists(folder) or self.disk.first_link(folder) is not None:
            return PutBack.NO_PARENT
        if self.disk.exists(destination):
            return PutBack.OCCUPIED
        return None

    def _finish_put_back(self, operation: Operation, destination: bytes) -> PutBack:
        """Journal a restore whose rename happened before a kill, or by a person's hand; anything else is absent."""
        told = destination[len(self.ledger.root) + 1 :].decode("latin-1")
        if operation.event is JournalEvent.RESTORE_INTENDED:
            told = operation.last.get("to", "")
            destination = operation.destination or destination
        elif operation.event not in (JournalEvent.RENAMED, JournalEvent.QUARANTINED, JournalEvent.KEPT):
            return PutBack.ABSENT
        if operation.matches(self.disk.look(destination)) is not True:
            return PutBack.ABSENT
        return self._returned(operation, destination, told)

    def _returned(self, operation: Operation, destination: bytes, told: str) -> PutBack:
        self._sync_both(operation.content, destination)
        self.record(operation.name, JournalEvent.RESTORED, to=told)
        self._remove_folder(operation)
        return PutBack.DONE

    def abandon(self, name: str, reason: str) -> None:
        """Journal that the rename never happened, and remove the folder that waited for it."""
        operation = Operation.read(self.ledger, name)
        operation.require(JournalEvent.INTENDED, JournalEvent.RENAMED)
        if self.disk.exists(operation.content):
            raise HostFailure(f"operation {name} was renamed into quarantine: it cannot be abandoned")
        self.record(name, JournalEvent.ABANDONED, reason=reason)
        self._remove_folder(operation)

    def give_up(self, name: str, reason: str) -> None:
        """Journal that nothing of it is left anywhere, and remove the folder that held it."""
        operation = Operation.read(self.ledger, name)
        if operation.event in FINISHED:
            raise HostFailure(f"operation {name} is {operation.event.value} already")
        begun = operation.event in (JournalEvent.PURGE_INTENDED, JournalEvent.PURGING)
        at_home = not begun and operation.matches(self.disk.look(operation.original)) is True
        if at_home or any(self.disk.exists(path) for path in (operation.content, operation.purging_folder)):
            raise HostFailure(f"operation {name} is not lost: it is there")
        self.record(name, JournalEvent.LOST, reason=reason)
        self._remove_folder(operation)

    def _remove_folder(self, operation: Operation) -> None:
        if self.disk.exists(operation.folder + b"/manifest.json"):
            self.kernel.unlink(operation.folder + b"/manifest.json")
        if self.disk.exists(operation.folder):
            self.kernel.rmdir(operation.folder)

    def _rename(self, source: bytes, destination: bytes, *, whole: bool = False) -> None:
        rename = partial(self.kernel.rename, source, destination)
        witnessed(self.ledger, self.processes, source, rename, whole=whole)

    def _sync_both(self, source: bytes, destination: bytes) -> None:
        for folder in (posixpath.dirname(destination), posixpath.dirname(source)):
            self.kernel.fsync(folder)

    def record(self, operation: str, event: JournalEvent, **facts: str) -> None:
        """Journal an event, whatever came before."""
        self.ledger.record(operation, event, self.clock.now, **facts)


def _outcome(error: OSError, outcomes: dict[int, Outcome]) -> Outcome:
    """Return what the errno means; one that has no meaning here is a failure of the machine."""
    code = error.errno or 0
    if code not in outcomes:
        raise HostFailure(f"rename failed: {errno.errorcode.get(code, code)}") from error
    return outcomes[code]


def _entry(relative: bytes, spot: Spot) -> ManifestEntry:
    inode = spot.inode
    return ManifestEntry(
        relative=relative,
        type=inode.type.value,
        inode=inode.number,
        birth_ns=inode.birth_ns,
        size_bytes=inode.size_bytes,
        modified_ns=inode.modified_ns,
        changed_ns=inode.changed_ns,
        links=inode.links,
    )


def _facts(note: ManifestNote, top: Spot, seen: str, digest: str, *, sibling: bool) -> dict[str, str]:
    identity = top.identity
    return {
        "original": note.target.relative.decode("latin-1"),
        "sibling": "yes" if sibling else "",
        "manifest": digest,
        "fingerprint": seen,
        "filesystem_uuid": identity.filesystem_uuid,
        "inode": str(identity.inode),
        "birth_ns": str(identity.birth_ns or 0),
        "ctime_ns": str(identity.ctime_ns or 0),
        "name": note.name,
        "allocated_bytes": str(note.allocated_bytes),
        "catalog_id": note.catalog_id,
    }
