"""What archiving asks of a machine beside `Host`: what a copy is made of, and writing one aside in a root.

Nothing of a copy is live before it is complete and renamed into its place. As with `Host`, `HostFailure` is raised when
the machine could not answer, an expected refusal is a value, and nothing here decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeGuard

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostRefused
from artifactctl.domain.identity import ManagedPath
from artifactctl.hosts.protocol import Host


class CopyEntry(NamedTuple):  # not a dataclass: see `Entry`
    """One entry of what is copied; `relative` b"" is the top. `letter`: f, d, l, or o for what cannot be copied.

    `mode` are the permission bits, `modified_ns` nanoseconds since 1970. Files that share a `group` other than 0 are
    names of one inode. `size_bytes` of a folder is 0.
    """

    relative: bytes
    letter: str
    size_bytes: int
    mode: int
    modified_ns: int
    link_target: bytes = b""
    group: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyNote:
    """What is written beside a copy while it comes into being. `target` is where it will stand.

    `source` says for a person where it comes from, `fingerprint` is what was there when it was begun.
    """

    operation: str
    target: ManagedPath
    name: str
    source: str
    fingerprint: str
    catalog_id: str
    actor: str
    at: datetime


class CopyState(StrEnum):
    """How far a copy is, by what lies in its folder."""

    EMPTY = "empty"  # its folder was made, nothing was begun
    BEGUN = "begun"
    COMPLETE = "complete"  # everything is on disk and was read back; not in its place
    PLACED = "placed"  # complete, and in its place
    VANISHED = "vanished"  # complete, and neither in its folder nor in its place: somebody moved it
    OVER = "over"  # a rest that is to be taken away


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRecord:
    """One copy that has a folder in the root. `note` is None where it was never begun, or is a rest.

    `is_being_written`: a process is writing to it right now.
    """

    operation: str
    state: CopyState
    note: CopyNote | None
    files: int
    files_done: int
    size_bytes: int
    done_bytes: int
    is_being_written: bool = False


class Placed(StrEnum):
    """How putting a copy into its place ended; nothing was replaced in any case."""

    DONE = "done"
    OCCUPIED = "occupied"
    NO_PARENT = "no_parent"  # the way there leads through a link or a file
    CROSS_DEVICE = "cross_device"  # its place is on another mount or subvolume than the root's own folder
    DENIED = "denied"


class ReadBack(NamedTuple):
    """One file as it was read back after it was fsynced: SHA-256 in hex.

    `from_device`: its pages were in no cache before (None: the system does not tell).
    """

    digest: str
    from_device: bool | None


class CopyWriting(Protocol):
    """One copy while it is written; nobody else can write to it meanwhile."""

    def entries(self) -> Sequence[CopyEntry]:
        """Return what it will have, as it was given to `begin_copy`."""
        ...

    def done(self) -> Mapping[bytes, str]:
        """Return the digests of files that are there and were read back, by relative path."""
        ...

    def make_folders(self) -> None:
        """Make its folders; only then can a file be begun."""
        ...

    def begin_file(self, relative: bytes) -> None:
        """Begin a file from its start, whatever an earlier run left of it."""
        ...

    def write(self, offset: int, content: bytes) -> None:
        """Write a piece of the file that was begun; what is never written is a hole."""
        ...

    def end_file(self, relative: bytes) -> None:
        """Give it its size, mode and time."""
        ...

    def read_back(self, relatives: Sequence[bytes]) -> tuple[ReadBack, ...]:
        """fsync files, drop their pages from the cache, and hash them as they are read from disk."""
        ...

    def record(self, members: Iterable[tuple[bytes, str]]) -> None:
        """Record durably that files are there, by (relative path, digest that was read back)."""
        ...

    def complete(self) -> None:
        """Make links and further names, set modes and times of folders, flush all of it, and mark it complete."""
        ...

    def close(self) -> None:
        """Let go of it; what was recorded stays for the next run."""
        ...


class CopyingHost(Host, Protocol):
    """A machine from and to whose roots copies can be made."""

    def copy_entries(self, root: Root, target: ManagedPath) -> tuple[tuple[CopyEntry, ...], tuple[str, ...]]:
        """Return (entries, folders before their content; what could not be looked at)."""
        ...

    def data_ranges(self, path: bytes) -> tuple[tuple[int, int], ...]:
        """Return (offset, length) of everything in a regular file that is no hole."""
        ...

    def begin_copy(self, root: Root, note: CopyNote, entries: Iterable[CopyEntry]) -> None:
        """Make the folder of a copy with its listing and its note, durably; nothing of it is written yet."""
        ...

    def write_copy(self, root: Root, operation: str) -> CopyWriting:
        """Open a copy that was begun; `Busy` while somebody else writes to it. Close what is returned."""
        ...

    def place_copy(self, root: Root, operation: str) -> Placed:
        """Rename a complete copy to its place (NOREPLACE), making folders above it, and fsync both parents.

        May be called again after a crash: what is in its place already counts as done.
        """
        ...

    def take_copy_away(self, root: Root, operation: str) -> tuple[bytes, ...]:
        """Remove the folder of a copy and what was written there; a copy that is in its place stays.

        Returns what was left since the listing does not name it, relative to the folder.
        """
        ...

    def copied(self, root: Root, operation: str) -> tuple[tuple[CopyEntry, ...], Mapping[bytes, str]]:
        """Return (what the copy has, the digests of its files that were read back) from its folder."""
        ...

    def copies(self, root: Root) -> tuple[CopyRecord, ...]:
        """Return every copy that has a folder in the root."""
        ...


def can_copy(host: Host) -> TypeGuard[CopyingHost]:
    """Whether copies can be made there.

    Asked of the object and not of its class: a machine under the name of the catalog passes on what it is asked.
    """
    return callable(getattr(host, "write_copy", None))


def require_copying(host: Host) -> CopyingHost:
    """Return the machine as one that copies can be made on; HostRefused where it cannot do that."""
    if can_copy(host):
        return host
    raise HostRefused(
        f"copies cannot be made on {host.identify().hostname}: what answers there can only look",
        remedy="install Python 3.8 or newer there, then try again",
    )
