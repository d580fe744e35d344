"""The end of a removal: members are unlinked one by one, each only while it is what the manifest says."""

import errno
import posixpath
from collections.abc import Callable
from datetime import timedelta

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import EntryType, PurgeRest, PurgeResult
from tests.fakes.disk import Spot
from tests.fakes.ledger import ManifestEntry
from tests.fakes.operation import Operation
from tests.fakes.own_changes import witnessed
from tests.fakes.quarantine import Quarantine
from tests.fakes.walking import members_of


def begin_purge(quarantine: Quarantine, name: str) -> None:
    """Rename the operation's folder to `.purging`: from here only completion is left."""
    operation = Operation.read(quarantine.ledger, name)
    operation.require(JournalEvent.QUARANTINED, JournalEvent.KEPT, JournalEvent.PURGE_INTENDED, JournalEvent.PURGING)
    disk = quarantine.disk
    if not disk.exists(operation.purging_folder):
        if not disk.exists(operation.content):
            raise HostFailure(f"operation {name} has nothing in quarantine")
        quarantine.record(name, JournalEvent.PURGE_INTENDED)
        quarantine.kernel.rename(operation.folder, operation.purging_folder)
    quarantine.kernel.fsync(posixpath.dirname(operation.folder))
    if operation.event is not JournalEvent.PURGING:
        quarantine.record(name, JournalEvent.PURGING)


def left_in_purge(quarantine: Quarantine, name: str) -> PurgeRest:
    """Return what is not as in the manifest; of a strange folder only its top."""
    operation = Operation.read(quarantine.ledger, name)
    manifest, content = operation.manifest(quarantine.ledger), operation.purging_content
    known = {entry.relative: entry for entry in manifest.members} if manifest is not None else {}
    strange: list[bytes] = []
    for relative, spot in members_of(quarantine.disk, content) if quarantine.disk.exists(content) else ():
        entry = known.get(relative)
        below = any((relative + b"/").startswith(top + b"/") for top in strange)
        if not below and (entry is None or not _is_recorded(spot, entry, is_top=not relative)):
            strange.append(relative)
    return PurgeRest(paths=tuple(posixpath.join(content, each) for each in strange), count=len(strange))


class Purge:
    """One run of a purge. It stops between two members when told to, and goes on in the next run."""

    def __init__(
        self,
        quarantine: Quarantine,
        name: str,
        *,
        still_held: Callable[[], bool],
        files_per_second: float | None,
        should_stop: Callable[[], bool] | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.quarantine = quarantine
        self.operation = Operation.read(quarantine.ledger, name)
        self.still_held = still_held
        self.pause = timedelta(seconds=1 / files_per_second) if files_per_second else timedelta()
        self.should_stop = should_stop
        self.progress = progress
        self.removed_files = 0
        self.removed_bytes = 0
        self.mismatched: list[bytes] = []
        self.errors: list[str] = []

    def run(self) -> PurgeResult:
        """Remove what may go, bottom up, then the folder, then journal PURGED when nothing is left."""
        operation, disk = self.operation, self.quarantine.disk
        if operation.event is JournalEvent.PURGED:
            self._remove_folder(operation.purging_folder)
            return self._result(complete=True)
        operation.require(JournalEvent.PURGING)
        content = operation.purging_content
        if disk.exists(content) and not self._remove_all(content):
            return self._result(complete=False, interrupted=True)
        if disk.exists(content):
            return self._result(complete=False)
        if disk.exists(operation.purging_folder):
            self.quarantine.kernel.fsync(operation.purging_folder)
        self.quarantine.record(operation.name, JournalEvent.PURGED)
        self._remove_folder(operation.purging_folder)
        return self._result(complete=True)

    def _remove_all(self, content: bytes) -> bool:
        """Return whether the end was reached; False when told to stop before."""
        manifest = self.operation.manifest(self.quarantine.ledger)
        if manifest is None:
            raise HostFailure(f"the manifest of operation {self.operation.name} is damaged; nothing more was removed")
        known = {entry.relative: entry for entry in manifest.members}
        present = list(members_of(self.quarantine.disk, content))
        for relative, spot in reversed(present):
            if not self.still_held() or (self.should_stop is not None and self.should_stop()):
                return False
            path = posixpath.join(content, relative) if relative else content
            self._remove_member(path, relative, spot, known.get(relative))
            self.quarantine.clock.advance(self.pause)
        if self.quarantine.disk.exists(content) and not self.mismatched and not self.errors:
            self._remove_empty(content)
        return True

    def _remove_member(self, path: bytes, relative: bytes, spot: Spot, entry: ManifestEntry | None) -> None:
        if entry is None or not _is_recorded(spot, entry, is_top=not relative):
            self.mismatched.append(relative)
            return
        if spot.inode.type is EntryType.DIRECTORY:
            if not spot.inode.entries:  # else it keeps a mismatch, which was named
                self._remove_empty(path)
            return
        freed = spot.inode.allocated_bytes if spot.inode.links == 1 else 0
        if self._attempt(path, lambda: self._unlink(path)):
            self.removed_files += 1
            self.removed_bytes += freed
            if self.progress is not None:
                self.progress(self.removed_files, self.removed_bytes)

    def _unlink(self, path: bytes) -> None:
        quarantine = self.quarantine
        witnessed(quarantine.ledger, quarantine.processes, path, lambda: quarantine.kernel.unlink(path))

    def _remove_empty(self, path: bytes) -> None:
        freed = self.quarantine.disk.find(path).inode.allocated_bytes
        if self._attempt(path, lambda: self.quarantine.kernel.rmdir(path)):
            self.removed_bytes += freed

    def _attempt(self, path: bytes, call: Callable[[], None]) -> bool:
        try:
            call()
        except OSError as error:
            self.errors.append(f"{path!r}: {errno.errorcode[error.errno or 0]}")
            return False
        return True

    def _remove_folder(self, folder: bytes) -> None:
        if self.quarantine.disk.exists(folder + b"/manifest.json"):
            self.quarantine.kernel.unlink(folder + b"/manifest.json")
        if self.quarantine.disk.exists(folder):
            self.quarantine.kernel.rmdir(folder)

    def _result(self, *, complete: bool, interrupted: bool = False) -> PurgeResult:
        return PurgeResult(
            complete=complete,
            removed_files=self.removed_files,
            removed_bytes=self.removed_bytes,
            mismatched=tuple(sorted(self.mismatched)),
            errors=tuple(self.errors),
            interrupted=interrupted,
        )


def _is_recorded(spot: Spot, entry: ManifestEntry, *, is_top: bool) -> bool:
    """Whether it still is the member that was recorded.

    A folder changes as its content goes, so it counts by inode. ctime is left out for the top, which was renamed, and
    for a member with several names, whose other names may have been removed a moment ago.
    """
    inode = spot.inode
    if (inode.type.value, inode.number, inode.birth_ns) != (entry.type, entry.inode, entry.birth_ns):
        return False
    if inode.type is EntryType.DIRECTORY:
        return True
    if (inode.size_bytes, inode.modified_ns) != (entry.size_bytes, entry.modified_ns):
        return False
    return is_top or entry.links > 1 or inode.changed_ns == entry.changed_ns
