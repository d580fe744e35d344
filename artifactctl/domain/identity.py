"""What makes a machine, a filesystem and a file the same thing at two looks."""

import posixpath
from dataclasses import dataclass

MARKER_DIRECTORY = b".artifactctl"
"""The folder at the top of every managed root: marker, journal, quarantine, mirrors. Never part of an artifact."""


UNKNOWN_SUBVOLUME = "unknown"


QUARANTINE_BESIDE = b".artifactctl-quarantine-"
"""How the name of a folder begins in which something was set aside beside its old place."""


QUARANTINED_CONTENT = b"content"
"""The name by which what was set aside lies in its operation's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """A machine. `machine_id` is /etc/machine-id (or a generated stand-in kept in the catalog's state folder).

    `host_key` is the key (`type base64`) by which a machine elsewhere proved who it is, "" for the one that the program
    runs on. Both together identify it: images are copied with their machine id. `own_keys` are those by which a machine
    proves to others who it is, as far as it says so.
    """

    machine_id: str
    hostname: str
    boot_id: str
    host_key: str = ""
    own_keys: tuple[str, ...] = ()

    def has(self, machine_id: str, host_key: str) -> bool:
        """Whether it is the machine that others know by both: where the program runs on it, one of its keys counts."""
        if self.machine_id != machine_id:
            return False
        return self.host_key == host_key or (not self.host_key and host_key in self.own_keys)

    @property
    def elsewhere(self) -> str:
        """What stands before its paths for people: its name, "" for the machine that the program runs on."""
        return self.hostname if self.host_key else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """One inode for as long as it lives: filesystem UUID + subvolume + inode number + birth time.

    `st_dev` is left out since it changes at every mount. Where the filesystem reports no birth time, `birth_ns` is
    None and `ctime_ns` stands in for it (nanoseconds since 1970); otherwise `ctime_ns` is None. `subvolume` is the
    UUID of the btrfs subvolume it lies in, whose snapshots have all the rest alike: "" on other filesystems,
    UNKNOWN_SUBVOLUME where the kernel does not tell.
    """

    filesystem_uuid: str
    inode: int
    birth_ns: int | None
    ctime_ns: int | None = None
    subvolume: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPath:
    """A path strictly below a managed root, proven lexically; links and mounts are the `confined` guard's job."""

    root: bytes
    relative: bytes

    def __post_init__(self) -> None:
        parts = self.relative.split(b"/")
        if not self.relative or self.relative.startswith(b"/") or any(p in (b"", b".", b"..") for p in parts):
            raise ValueError(f"{self.relative!r} is not a path strictly below {self.root!r}")
        if parts[0] == MARKER_DIRECTORY:
            raise ValueError(f"{self.relative!r} lies in the folder that artifactctl keeps for itself")
        if b"\0" in self.relative:
            raise ValueError("a path cannot hold a NUL byte")

    @classmethod
    def within(cls, root: bytes, candidate: bytes) -> "ManagedPath":
        """Return absolute `candidate` as a path below `root`; ValueError when it is not strictly below."""
        clean_root = posixpath.normpath(root)
        clean = posixpath.normpath(candidate)
        prefix = clean_root if clean_root.endswith(b"/") else clean_root + b"/"
        if not clean.startswith(prefix):
            raise ValueError(f"{candidate!r} does not lie below {root!r}")
        return cls(root=clean_root, relative=clean[len(prefix) :])

    @property
    def absolute(self) -> bytes:
        """The full path on its machine."""
        return posixpath.join(self.root, self.relative)


def member_order(relative: bytes) -> list[bytes]:
    """Return the sort key of a member: its path components, so that a folder's content follows its name.

    A depth-first walk that visits each folder's entries in byte order yields members in exactly this order.
    """
    return relative.split(b"/")
