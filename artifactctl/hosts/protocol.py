"""What the engine asks of a machine.

Every method raises `HostFailure` when the machine could not answer; an expected refusal is a value. Nothing here
decides: the caller holds the guards. Paths of roots are absolute `bytes`; `relative` is below the root.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from artifactctl.domain.activity import VolumeActivity
from artifactctl.domain.artifacts import Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.identity import UNKNOWN_SUBVOLUME, FileIdentity, HostIdentity, ManagedPath
from artifactctl.domain.observation import HolderReport, Observation, Referrer, VolumeUsage
from artifactctl.domain.operations import OperationRecord
from artifactctl.domain.uptime import Uptime


class EntryType(StrEnum):
    """The type of a directory entry."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


class Entry(NamedTuple):  # not a dataclass: a walk makes millions, and a frozen one takes four times as long to make
    """One name in a folder, from one lstat. `link_target` is set for symlinks; `read_ns` 0 means not known."""

    name: bytes
    type: EntryType
    size_bytes: int
    allocated_bytes: int
    inode: int
    links: int
    modified_ns: int
    changed_ns: int
    link_target: bytes = b""
    read_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One folder of a walk: `relative` to where the walk began (b"" is the top itself), entries in byte order.

    `problem` is set when the folder could not be read (then `entries` is what was read before the error, which proves
    nothing about the rest). `is_mount` folders are reported and not entered. `allocated_bytes` is the folder's own.
    """

    relative: bytes
    entries: tuple[Entry, ...]
    allocated_bytes: int
    inode: int
    problem: str = ""
    is_mount: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The content of `<root>/.artifactctl/root.json`. `inode`, `filesystem_uuid`, `subvolume`: when it was written.

    `subvolume` is that of `FileIdentity`. One that was written before it was is read with what can be proven, "" when
    nothing can.
    """

    root_id: str
    name: str
    catalog_id: str
    catalog_epoch: int
    filesystem_uuid: str
    inode: int
    subvolume: str = ""

    def lies_at(self, found: FileIdentity) -> bool:
        """Whether `found` is provably the folder that it was written for, and neither a copy nor a snapshot of it."""
        here = (found.filesystem_uuid, found.inode, found.subvolume)
        return here == (self.filesystem_uuid, self.inode, self.subvolume) and found.subvolume != UNKNOWN_SUBVOLUME


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestNote:
    """What is written beside the member manifest so that a quarantine can be restored without any catalog."""

    operation: str
    target: ManagedPath
    name: str
    kind: str
    identity: FileIdentity
    fingerprint: str
    allocated_bytes: int
    root_id: str
    catalog_id: str
    reason: str
    actor: str
    evidence_json: str
    at: datetime


class SetAside(StrEnum):
    """How a rename into quarantine ended."""

    DONE = "done"
    ABSENT = "absent"  # nothing at the path any more
    REPLACED = "replaced"  # another inode stands at the path
    CROSS_DEVICE = "cross_device"  # EXDEV: another filesystem, subvolume, bind mount or project; nothing copied
    IN_USE = "in_use"  # single file: the write lease was refused
    NO_SPACE = "no_space"
    DENIED = "denied"
    MOUNTED = "mounted"  # EBUSY
    OCCUPIED = "occupied"  # the destination exists


class PutBack(StrEnum):
    """How a rename out of quarantine ended."""

    DONE = "done"
    OCCUPIED = "occupied"  # something stands at the destination; nothing was touched
    ABSENT = "absent"
    REPLACED = "replaced"
    PURGING = "purging"  # purge has begun: only completion is left
    CROSS_DEVICE = "cross_device"
    DENIED = "denied"
    NO_PARENT = "no_parent"  # the destination's folder is gone or reached through a link


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """What a purge did. `mismatched` names members that were left since they are not what the manifest says."""

    complete: bool
    removed_files: int
    removed_bytes: int
    mismatched: tuple[bytes, ...] = ()
    errors: tuple[str, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRest:
    """What a purge must not remove: not in the manifest, or not as it says. `paths` (the first 1,000 of `count`) are
    absolute; of a strange folder only its top is named. `problem` says why the rest could not be told."""

    paths: tuple[bytes, ...]
    count: int
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a quarantine of a target would go: in the root's own folder, or in a sibling folder of the same parent."""

    possible: bool
    sibling: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedHolder:
    """A deleted file whose bytes a process still keeps. `size_bytes` is what comes free when it closes it."""

    pid: int
    command: str
    path: bytes
    size_bytes: int


class Host(Protocol):
    """One machine."""

    def identify(self) -> HostIdentity:
        """Return who this machine is."""
        ...

    def now(self) -> datetime:
        """Return the machine's own clock."""
        ...

    def uptime(self) -> Uptime:
        """Return how long the machine has been up, which no setting of its clock changes."""
        ...

    def usage(self, path: bytes) -> VolumeUsage:
        """Return the space of the filesystem that holds `path`, with every limit that binds a writer there."""
        ...

    def mounts(self) -> tuple[VolumeUsage, ...]:
        """Return the filesystems on which people store things; one that does not answer in time is left out."""
        ...

    def settle(self, path: bytes, *, target_available_bytes: int | None, deadline_seconds: float) -> VolumeUsage:
        """syncfs, then poll statvfs until `available_bytes` reaches the target or the deadline passes."""
        ...

    def resolve(self, path: bytes) -> tuple[bytes, bytes | None]:
        """Return (absolute normalised path, first component that is a symbolic link or None), following nothing."""
        ...

    def identity(self, path: bytes) -> FileIdentity | None:
        """Return the identity of what stands at `path` (not following a link), None if nothing."""
        ...

    def walk(self, path: bytes) -> Iterator[Listing]:
        """Yield the folders below `path`, depth first in byte order, top first; follows no link, crosses no mount.

        Skips the `.artifactctl` folder at the top of a root and, anywhere, folders in which something was set aside
        beside its old place (`.artifactctl-quarantine-<operation>`); `observe` sees those inside its target. A
        file as `path` yields one listing with itself as entry.
        """
        ...

    def read_range(self, path: bytes, offset: int, length: int) -> bytes:
        """Return up to `length` bytes of a regular file at `offset`; O_NOFOLLOW, O_NONBLOCK, never a special file."""
        ...

    def digest(self, path: bytes, *, progress: Callable[[int], None] | None = None) -> str:
        """Return the SHA-256 of a regular file in hex."""
        ...

    def observe(self, root: Root, target: ManagedPath, *, catalog_id: str, catalog_epoch: int) -> Observation:
        """Return everything about the target at this instant (without referrers and drift)."""
        ...

    def contents(self, root: Root, target: ManagedPath) -> ContentLook:
        """Return what stands at the target and who could be changing it: what `observe` costs less the rest of it."""
        ...

    def observe_quarantined(self, root: Root, operation: str) -> Observation:
        """The same for what lies in an operation's quarantine folder (`.purging` included).

        A member of which other names were unlinked or renamed by this host's own acts is shown with the ctime that
        the manifest has, where those acts, and nobody else's, account for the difference.
        """
        ...

    def holders(self, path: bytes) -> HolderReport:
        """Return who uses the file or tree at `path`, root or not."""
        ...

    def activity(self, path: bytes, *, seconds: float) -> VolumeActivity:
        """Return who writes to the volume that holds `path`, measured for `seconds`."""
        ...

    def held_by_deleted(self, path: bytes) -> tuple[DeletedHolder, ...]:
        """Return the deleted files on the filesystem of `path` that some process still has open, each inode once."""
        ...

    def referrers(
        self, roots: Iterable[bytes], targets: Iterable[bytes]
    ) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
        """Walk `roots` for symbolic links that lead to or below one of the absolute `targets` from outside of it.

        Returns (links, problems): a folder that could not be read is a problem, never silence.
        """
        ...

    def read_marker(self, root: bytes) -> Marker | None:
        """Return the root's marker, None when there is none; HostFailure when it cannot be read or parsed."""
        ...

    def write_marker(self, root: bytes, marker: Marker) -> None:
        """Create `.artifactctl/` (0700) with marker, journal header, ballast and spare operation folders."""
        ...

    def mirror(self, root: bytes, topic: str, content: bytes) -> None:
        """Durably replace `.artifactctl/<topic>.json` (holds, operations): what a rebuilt catalog must not forget."""
        ...

    def read_mirror(self, root: bytes, topic: str) -> bytes | None:
        """Return what `mirror` wrote, None when absent."""
        ...

    def placement(self, root: Root, target: ManagedPath) -> Placement:
        """Say whether and where the target could be set aside; creates nothing."""
        ...

    def intend(self, root: Root, note: ManifestNote, *, sibling: bool) -> str:
        """Write and fsync the member manifest, journal INTENDED durably. Returns the fingerprint it recorded."""
        ...

    def set_aside(self, root: Root, operation: str) -> SetAside:
        """Rename the target into the operation's folder (NOREPLACE), fsync both parents, journal RENAMED."""
        ...

    def confirm(self, root: Root, operation: str) -> None:
        """Journal QUARANTINED: the second look was clear, or an announced restore or purge did not begin."""
        ...

    def keep(self, root: Root, operation: str, reason: str) -> None:
        """Journal KEPT: busy, and the old path is occupied."""
        ...

    def abandon(self, root: Root, operation: str, reason: str) -> None:
        """Journal ABANDONED for an operation whose rename never happened."""
        ...

    def give_up(self, root: Root, operation: str, reason: str) -> None:
        """Journal LOST for an operation whose content is in no quarantine and not at its old path; nothing is removed.

        HostFailure while anything of it, or in its place, is still there.
        """
        ...

    def put_back(self, root: Root, operation: str, *, to: ManagedPath | None, reason: str) -> PutBack:
        """Journal RESTORE_INTENDED, rename back (NOREPLACE), fsync both parents, journal RESTORED."""
        ...

    def begin_purge(self, root: Root, operation: str) -> None:
        """Journal PURGE_INTENDED, rename the folder to `<operation>.purging`, fsync, journal PURGING."""
        ...

    def purge(
        self,
        root: Root,
        operation: str,
        *,
        files_per_second: float | None = None,
        should_stop: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PurgeResult:
        """Unlink what matches the manifest, bottom up, relative to descriptors; fsync parents; journal PURGED.

        May be called again after an interruption: what is already gone counts as done.
        """
        ...

    def left_in_purge(self, root: Root, operation: str) -> PurgeRest:
        """Return what a purge that has begun has to leave where it is, without changing anything."""
        ...

    def operations(self, root: Root) -> tuple[OperationRecord, ...]:
        """Return every operation in the root's journal with where its bytes are now.

        HostFailure when the journal's header does not match this root (a cloned root) or the journal is unreadable.
        """
        ...

    def lock(self, root: Root) -> "RootLock":
        """Take the root's exclusive operation lock; `Busy` (with the holder's name) when somebody has it."""
        ...


class RootLock(Protocol):
    """An exclusive right to change one root. A frozen holder loses it silently: ask `still_held` before acting."""

    def still_held(self) -> bool:
        """Whether the lock is still ours."""
        ...

    def release(self) -> None:
        """Give it up."""
        ...
