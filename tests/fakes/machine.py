"""`FakeMachine`: a whole machine in memory that implements `Host`, and the handles by which a test disturbs it."""

import functools
import hashlib
import posixpath
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Concatenate, ParamSpec, TypeVar

from artifactctl.domain.activity import VolumeActivity
from artifactctl.domain.artifacts import Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import FileIdentity, HostIdentity, ManagedPath
from artifactctl.domain.observation import (
    BlindSpot,
    HolderReport,
    Observation,
    Referrer,
    VolumeUsage,
)
from artifactctl.domain.operations import OperationRecord
from artifactctl.domain.uptime import Uptime
from artifactctl.hosts.protocol import (
    DeletedHolder,
    EntryType,
    Listing,
    ManifestNote,
    Marker,
    Placement,
    PurgeRest,
    PurgeResult,
    PutBack,
    SetAside,
)
from tests.fakes.clock import FakeClock
from tests.fakes.disk import Disk, Mount
from tests.fakes.inodes import Inode
from tests.fakes.ledger import Ledger
from tests.fakes.locking import FakeLock, LockTable
from tests.fakes.looking import Looker
from tests.fakes.observing import observe
from tests.fakes.operation import Operation, record_of
from tests.fakes.own_changes import excused
from tests.fakes.points import Points
from tests.fakes.processes import ProcessTable
from tests.fakes.purge import Purge, begin_purge, left_in_purge
from tests.fakes.quarantine import Quarantine
from tests.fakes.steps import Failure, Kernel, Steps
from tests.fakes.syscalls import Syscalls
from tests.fakes.volume import GIB, MIB, Volume
from tests.fakes.walking import walk

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SETTLE_POLL = timedelta(milliseconds=50)


def point(
    method: Callable[Concatenate["FakeMachine", Arguments], Result],
) -> Callable[Concatenate["FakeMachine", Arguments], Result]:
    """Make a `Host` method a named point: logged, with races before and after it, failing when told to."""

    @functools.wraps(method)
    def call(self: "FakeMachine", /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        self.steps.check_alive()
        self.points.before(method.__name__)
        try:
            result = method(self, *args, **kwargs)
        except OSError as error:
            raise HostFailure(f"{method.__name__}: {error}") from error
        self.points.after(method.__name__)
        return result

    return call


class FakeMachine:
    """One machine. Arrange through `do` (system calls), `processes`, `clock` and volumes; then let the engine act."""

    def __init__(self, *, size_bytes: int = 1024 * GIB, filesystem_type: str = "ext4", user: int = 0) -> None:
        self.clock = FakeClock()
        self.identity_of_host = HostIdentity(machine_id="fake-machine", hostname="node-1", boot_id="boot-1")
        volume = Volume(uuid="volume-1", type=filesystem_type, size_bytes=size_bytes, clock=self.clock)
        self.disk = Disk(mounts=[Mount(path=b"/", volume=volume, top=2, source="/dev/fake1")], user=user)
        self.do = Syscalls(self.disk)
        self.processes = ProcessTable(self.disk)
        self.boots = 1
        self.blind_spots: list[BlindSpot] = []
        self.steps = Steps()
        self.points = Points()
        self.locks = LockTable()
        self._kernel = Kernel(self.do, self.steps)
        self._looker = Looker(self.disk, self.processes, self.blind_spots)

    # How a test disturbs it.

    def add_volume(self, path: bytes, *, size_bytes: int = 64 * MIB, filesystem_type: str = "ext4") -> Volume:
        """Mount a new empty filesystem at a new folder `path`."""
        number = len(self.disk.mounts) + 1
        volume = Volume(uuid=f"volume-{number}", type=filesystem_type, size_bytes=size_bytes, clock=self.clock)
        self.do.mkdir(path)
        self.disk.attach(Mount(path=path, volume=volume, top=2, source=f"/dev/fake{number}"))
        return volume

    def kill_at(self, number: int, *, after: bool = False) -> None:
        """Raise `Killed` right before (or after) the `number`-th change from the last `restart` on."""
        self.steps.kill_at(number, after=after)

    def fail(self, primitive: str, code: int, *, path: bytes = b"", times: int = 1) -> None:
        """Let a primitive (mkdir, write, append, rename, unlink, rmdir, fsync) answer an errno."""
        self.steps.fail(Failure(primitive=primitive, code=code, path=path, times=times))

    def restart(self) -> None:
        """The program was killed, or ended, and is started anew: locks are free, steps count from 1."""
        self.locks.free_all()
        self.steps.restart()

    def reboot(self) -> None:
        """Everything that runs ends; what is on disk stays."""
        self.processes.end_all()
        self.boots += 1
        self.identity_of_host = replace(self.identity_of_host, boot_id=f"boot-{self.boots}")
        self.clock.up_nanoseconds = 0
        self.restart()

    def copy(self) -> "FakeMachine":
        """Return an independent machine in the same state (races that a test planted refer to the old one)."""
        return deepcopy(self)

    # The Host protocol.

    @point
    def identify(self) -> HostIdentity:
        """Return who this machine is."""
        return self.identity_of_host

    @point
    def now(self) -> datetime:
        """Return the fake clock's time."""
        return self.clock.now

    @point
    def uptime(self) -> Uptime:
        """Return how long the machine has been up."""
        since_boot = timedelta(microseconds=self.clock.up_nanoseconds // 1000)
        identity = self.identity_of_host
        return Uptime(machine_id=identity.machine_id, boot_id=identity.boot_id, since_boot=since_boot)

    @point
    def usage(self, path: bytes) -> VolumeUsage:
        """Return the space of the volume that holds `path`."""
        return _usage(self.disk.find(path, follow_last=True).mount)

    @point
    def mounts(self) -> tuple[VolumeUsage, ...]:
        """Return every mount."""
        return tuple(_usage(mount) for mount in self.disk.mounts)

    @point
    def settle(self, path: bytes, *, target_available_bytes: int | None, deadline_seconds: float) -> VolumeUsage:
        """Let late blocks become free, and the clock run to the deadline when the target is not reached."""
        mount = self.disk.find(path, follow_last=True).mount
        mount.volume.late_bytes = 0
        if target_available_bytes is not None:
            if mount.volume.available_bytes < target_available_bytes:
                self.clock.advance(timedelta(seconds=deadline_seconds))
            else:
                self.clock.advance(SETTLE_POLL)
        return _usage(mount)

    @point
    def resolve(self, path: bytes) -> tuple[bytes, bytes | None]:
        """Return the normal form of the path and its first component that is a link."""
        clean = posixpath.normpath(posixpath.join(b"/", path))
        return clean, self.disk.first_link(clean)

    @point
    def identity(self, path: bytes) -> FileIdentity | None:
        """Return what makes the inode at `path` the same at two looks."""
        spot = self.disk.look(path)
        return spot.identity if spot else None

    @point
    def walk(self, path: bytes) -> Iterator[Listing]:
        """Yield the folders below `path`."""
        return walk(self.disk, path)

    @point
    def read_range(self, path: bytes, offset: int, length: int) -> bytes:
        """Return a part of a regular file; atime does not move."""
        return self._regular(path).read(offset, length)

    @point
    def digest(self, path: bytes, *, progress: Callable[[int], None] | None = None) -> str:
        """Return the SHA-256 of a regular file."""
        inode = self._regular(path)
        if progress is not None:
            progress(inode.size_bytes)
        return hashlib.sha256(inode.read(0, inode.size_bytes)).hexdigest()

    @point
    def observe(self, root: Root, target: ManagedPath, *, catalog_id: str, catalog_epoch: int) -> Observation:
        """Return everything about the target."""
        ours = (catalog_id, catalog_epoch)
        return observe(self._looker, self.clock.now, root, target.absolute, ours, self._ledger(root))

    @point
    def contents(self, root: Root, target: ManagedPath) -> ContentLook:
        """Return what stands at the target and who could be changing it."""
        del root
        return self._looker.contents(target)

    @point
    def observe_quarantined(self, root: Root, operation: str) -> Observation:
        """Return the same about what an operation set aside."""
        ledger = self._ledger(root)
        found = Operation.read(ledger, operation)
        content = found.purging_content if self.disk.exists(found.purging_folder) else found.content
        looker = self._looker.knowing(found.original, excused(ledger, self.disk, found))
        return observe(looker, self.clock.now, root, content, None, ledger)

    @point
    def holders(self, path: bytes) -> HolderReport:
        """Return who uses what stands at `path`."""
        return self._looker.holders(path)

    @point
    def activity(self, path: bytes, *, seconds: float) -> VolumeActivity:
        """Let `seconds` pass (nobody but a test writes here) and say how the free space moved."""
        volume = self.disk.find(path, follow_last=True).mount.volume
        before = volume.available_bytes
        self.clock.advance(timedelta(seconds=seconds))
        return VolumeActivity(
            seconds=seconds,
            available_before_bytes=before,
            available_after_bytes=volume.available_bytes,
            processes_denied=0,
            writers=(),
        )

    @point
    def held_by_deleted(self, path: bytes) -> tuple[DeletedHolder, ...]:
        """Return nothing: a planted holder keeps no deleted bytes on this machine."""
        self.disk.find(path, follow_last=True)
        return ()

    @point
    def referrers(
        self, roots: Iterable[bytes], targets: Iterable[bytes]
    ) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
        """Return the links that lead to a target."""
        return self._looker.referrers(roots, targets)

    @point
    def read_marker(self, root: bytes) -> Marker | None:
        """Return the root's marker."""
        return Ledger(self.disk, self._kernel, root).marker()

    @point
    def write_marker(self, root: bytes, marker: Marker) -> None:
        """Make the root's own folder."""
        Ledger(self.disk, self._kernel, root).create(marker)

    @point
    def mirror(self, root: bytes, topic: str, content: bytes) -> None:
        """Replace a mirror durably."""
        Ledger(self.disk, self._kernel, root).mirror(topic, content)

    @point
    def read_mirror(self, root: bytes, topic: str) -> bytes | None:
        """Return a mirror."""
        return Ledger(self.disk, self._kernel, root).read_mirror(topic)

    @point
    def placement(self, root: Root, target: ManagedPath) -> Placement:
        """Say where the target would go."""
        return self._quarantine(root).placement(target)

    @point
    def intend(self, root: Root, note: ManifestNote, *, sibling: bool) -> str:
        """Write the manifest and journal INTENDED."""
        return self._changing(root).intend(note, sibling=sibling)

    @point
    def set_aside(self, root: Root, operation: str) -> SetAside:
        """Rename into quarantine and journal RENAMED."""
        return self._changing(root).set_aside(operation)

    @point
    def confirm(self, root: Root, operation: str) -> None:
        """Journal QUARANTINED."""
        self._changing(root).confirm(operation)

    @point
    def keep(self, root: Root, operation: str, reason: str) -> None:
        """Journal KEPT."""
        self._changing(root).keep(operation, reason)

    @point
    def abandon(self, root: Root, operation: str, reason: str) -> None:
        """Journal ABANDONED."""
        self._changing(root).abandon(operation, reason)

    @point
    def give_up(self, root: Root, operation: str, reason: str) -> None:
        """Journal LOST."""
        self._changing(root).give_up(operation, reason)

    @point
    def left_in_purge(self, root: Root, operation: str) -> PurgeRest:
        """Return what a begun purge has to leave."""
        return left_in_purge(self._quarantine(root), operation)

    @point
    def put_back(self, root: Root, operation: str, *, to: ManagedPath | None, reason: str) -> PutBack:
        """Rename out of quarantine and journal RESTORED."""
        return self._changing(root).put_back(operation, to=to, reason=reason)

    @point
    def begin_purge(self, root: Root, operation: str) -> None:
        """Rename to `.purging` and journal PURGING."""
        begin_purge(self._changing(root), operation)

    @point
    def purge(
        self,
        root: Root,
        operation: str,
        *,
        files_per_second: float | None = None,
        should_stop: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PurgeResult:
        """Unlink what matches the manifest and journal PURGED."""
        quarantine = self._changing(root)
        run = Purge(
            quarantine,
            operation,
            still_held=lambda: not self.locks.is_lost(root),
            files_per_second=files_per_second,
            should_stop=should_stop,
            progress=progress,
        )
        return run.run()

    @point
    def operations(self, root: Root) -> tuple[OperationRecord, ...]:
        """Return every operation with where its bytes are."""
        ledger = self._ledger(root)
        found = (Operation.from_events(ledger, name, events) for name, events in ledger.events().items())
        return tuple(record_of(self.disk, ledger, operation) for operation in found)

    @point
    def lock(self, root: Root) -> FakeLock:
        """Take the root's lock."""
        return self.locks.take(root)

    # What the methods share.

    def _ledger(self, root: Root) -> Ledger:
        return Ledger(self.disk, self._kernel, root.path)

    def _quarantine(self, root: Root) -> Quarantine:
        return Quarantine(self.disk, self._kernel, self.processes, self.clock, root.path)

    def _changing(self, root: Root) -> Quarantine:
        self.locks.check_before_change(root)
        return self._quarantine(root)

    def _regular(self, path: bytes) -> Inode:
        spot = self.disk.find(path)
        if spot.inode.type is not EntryType.FILE:
            raise HostFailure(f"{path!r} is not a regular file")
        if spot.inode.read_error:
            raise OSError(spot.inode.read_error, "cannot be read", path)
        return spot.inode


def _usage(mount: Mount) -> VolumeUsage:
    volume = mount.volume
    return VolumeUsage(
        mount=mount.path,
        filesystem_uuid=volume.uuid,
        filesystem_type=volume.type,
        device=mount.source,
        size_bytes=volume.size_bytes,
        used_bytes=volume.used_bytes,
        free_bytes=volume.available_bytes,
        available_bytes=volume.available_bytes,
        total_inodes=volume.total_inodes,
        available_inodes=volume.total_inodes - len(volume.inodes),
        block_bytes=volume.block_bytes,
        read_only=mount.read_only,
        is_network=volume.is_network,
    )
