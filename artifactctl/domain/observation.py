"""Everything a host reported about one target at one instant, including what it could not see.

These are the facts the guards judge. A field that could not be determined says so (None, or an entry in a list of
blind spots): absence of a finding is a finding only where the look was complete.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from artifactctl.domain.identity import FileIdentity
from artifactctl.domain.sharing import SharedInode


class HolderKind(StrEnum):
    """How something keeps a file or folder in use."""

    DESCRIPTOR = "descriptor"
    MAPPING = "mapping"
    WORKING_DIRECTORY = "working_directory"
    ROOT_DIRECTORY = "root_directory"
    EXECUTABLE = "executable"
    MOUNT = "mount"
    LOOP_DEVICE = "loop_device"
    SWAP = "swap"
    KERNEL_LEASE = "kernel_lease"  # the kernel refused a write lease: somebody has it open, we cannot name who
    FLOCK = "flock"  # an advisory lock on the file or folder, honoured as a lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One use of one member. `path` is relative to the target ("" is the target itself); `pid` None if unknown."""

    kind: HolderKind
    path: bytes
    pid: int | None = None
    command: str = ""
    detail: str = ""


class BlindSpotKind(StrEnum):
    """Where the look for holders could not reach."""

    FOREIGN_PROCESSES = "foreign_processes"  # descriptors of other users' processes, no privilege to read them
    HIDDEN_PROCESSES = "hidden_processes"  # /proc is mounted with hidepid
    PID_NAMESPACE = "pid_namespace"  # we run inside a container; the machine's other processes are invisible
    NETWORK_FILESYSTEM = "network_filesystem"  # other machines can have files open
    EXPORTED = "exported"  # this machine serves the filesystem to others (knfsd, ganesha, samba)
    NO_LEASE = "no_lease"  # the kernel gave no answer for some members (not the owner, or not supported)
    UNREADABLE = "unreadable"  # a source such as /proc/swaps or a mount table could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSpot:
    """One limit of the look: what, how much of it, and the exact command or statement that would settle it."""

    kind: BlindSpotKind
    count: int
    detail: str
    settled_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderReport:
    """The result of looking for users of the target.

    `leases_granted` of `lease_candidates` regular members granted a write lease, i.e. nobody on this kernel has them
    open or mapped. `lease_answers_for_all_openers` is true only on an allow-listed local filesystem that is not
    exported: there a grant settles descriptors and mappings of processes that could not be inspected.
    """

    holders: tuple[Holder, ...]
    blind_spots: tuple[BlindSpot, ...]
    processes_inspected: int
    lease_candidates: int
    leases_granted: int
    lease_answers_for_all_openers: bool

    @property
    def leases_settle_openers(self) -> bool:
        """Whether the kernel itself said that no process has any member open or mapped."""
        return self.lease_answers_for_all_openers and self.leases_granted == self.lease_candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLook:
    """What another machine that mounts the volume said about users of the target, by the look that is made here.

    `report` is None where it gave no answer that counts: `problem` says why (not reached, or what it has there is
    not provably the same), `remedy` what to do about it.
    """

    machine: str
    report: HolderReport | None = None
    problem: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeUses:
    """Who uses what on one filesystem, from one look at all processes; the kernel was not asked about single files.

    `by_inode` holds uses by inode number, `below` those known by path (relative to where the look was asked for).
    """

    by_inode: Mapping[int, tuple[Holder, ...]]
    below: tuple[Holder, ...]
    processes_inspected: int
    processes_denied: int
    problems: tuple[str, ...] = ()


class ObstacleKind(StrEnum):
    """Why an entry could not be unlinked."""

    IMMUTABLE = "immutable"
    APPEND_ONLY = "append_only"
    STICKY = "sticky"
    PERMISSION = "permission"
    READ_ONLY = "read_only"
    ATTRIBUTES_UNKNOWN = "attributes_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One entry (relative to the target) that would wedge a removal half-way."""

    kind: ObstacleKind
    path: bytes
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSighting:
    """A mount at or below the target; `relative` "" is the target itself."""

    relative: bytes
    source: str
    filesystem_type: str


class MarkerState(StrEnum):
    """What stands at the top of the root."""

    MATCHES = "matches"
    MISSING = "missing"
    FOREIGN = "foreign"  # another root id, another catalog, or a newer/older epoch
    CLONED = "cloned"  # same root id on another inode or filesystem: a copy of the root
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """Where the target really lies. `other_roots` are folders around or inside of it that keep a root of their own."""

    marker: MarkerState
    marker_detail: str
    filesystem_uuid: str
    filesystem_type: str
    symlinked_component: bytes | None
    mounts: tuple[MountSighting, ...]
    mounts_complete: bool
    other_roots: tuple[bytes, ...] = ()


class SharedExtents(StrEnum):
    """Whether blocks are shared with files elsewhere (reflinks, snapshots), compressed, or exclusively ours."""

    NONE = "none"
    SOME = "some"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSummary:
    """The measured content of the target, from one walk.

    `allocated_bytes` is st_blocks * 512 with every inode once, folders included (as `du -s`). `exclusive_bytes` leaves
    out the `shared_inodes`, which have a name outside the target as well (`outside_names`: the first of them).
    `fingerprint` and `member_digest` are SHA-256 in hex: the first over (path, type, inode, size, mtime, ctime) of
    everything below plus the top folder's inode; the second over (path, type, size) of everything that is not a folder.
    `changed_at` is the newest mtime or ctime (of the top folder itself the mtime, since a rename changes its ctime),
    `written_at` the newest mtime alone, folders and the top included, `read_at` the newest atime of a regular file.
    `placed_at` is the newest ctime of the top and of the folders up to its root: when it last came to its place.
    """

    files: int
    directories: int
    symlinks: int
    apparent_bytes: int
    allocated_bytes: int
    exclusive_bytes: int
    fingerprint: str
    member_digest: str
    changed_at: datetime
    changed_path: bytes
    written_at: datetime
    placed_at: datetime
    read_at: datetime | None
    read_path: bytes
    escaping_links: tuple[tuple[bytes, bytes], ...]
    special_files: tuple[tuple[bytes, str], ...]
    outside_names: tuple[tuple[bytes, int], ...]
    shared_extents: SharedExtents
    problems: tuple[str, ...]
    shared_inodes: tuple[SharedInode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDrift:
    """How the members on disk differ from the catalogued ones; counts are exact, examples are the first few."""

    strays: int = 0
    missing: int = 0
    resized: int = 0
    stray_examples: tuple[bytes, ...] = ()
    missing_examples: tuple[bytes, ...] = ()
    resized_examples: tuple[tuple[bytes, int, int], ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether disk and catalog agree."""
        return not (self.strays or self.missing or self.resized)


@dataclass(frozen=True, slots=True, kw_only=True)
class Referrer:
    """A link elsewhere under a managed root that leads to the target or below it. Both paths are absolute.

    `is_dangling`: nothing is where it leads to, or that could not be told.
    """

    link: bytes
    target: bytes
    is_dangling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at one target. `identity` and `tree` are None when nothing is there.

    `referrers` comes from a walk over all managed roots of the machine; `referrer_problems` names what that walk could
    not read. `drift` is None until somebody compared with the catalog. `host_time` is the machine's own clock.
    `clients` are the other machines that were asked who uses it there.
    """

    taken_at: datetime
    host_time: datetime
    path: bytes
    identity: FileIdentity | None
    is_directory: bool
    confinement: Confinement
    tree: TreeSummary | None
    holders: HolderReport
    obstacles: tuple[Obstacle, ...]
    referrers: tuple[Referrer, ...] = ()
    referrer_problems: tuple[str, ...] = ()
    drift: MemberDrift | None = None
    problems: tuple[str, ...] = ()
    clients: tuple[ClientLook, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One thing that bounds new bytes besides the filesystem's free blocks: a quota, inodes, a thin pool."""

    name: str
    available_bytes: int | None
    available_inodes: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeUsage:
    """What statvfs and the quota interfaces said. `available_bytes` is f_bavail * f_frsize (what df calls Avail).

    `total_inodes` 0 means the filesystem has no inode limit (btrfs), not that it is full. `is_network`: others than
    this kernel may have files open there (a network or FUSE filesystem, or a type that is not known to be local).
    """

    mount: bytes
    filesystem_uuid: str
    filesystem_type: str
    device: str
    size_bytes: int
    used_bytes: int
    free_bytes: int
    available_bytes: int
    total_inodes: int
    available_inodes: int
    block_bytes: int
    read_only: bool
    limits: tuple[Limit, ...] = ()
    is_network: bool = False
    thin_or_sparse: bool = False
