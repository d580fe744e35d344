"""What one artifact adds up to while the walk passes through it."""

import hashlib
from dataclasses import dataclass, field

from artifactctl.catalog.members import Member
from artifactctl.domain.artifacts import Artifact, Replica
from artifactctl.hosts.protocol import Entry, EntryType
from artifactctl.inventory.comparing import ComparedMembers
from artifactctl.inventory.packing import PackedMembers
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.sightings import Sighting

LETTERS = {EntryType.FILE: "f", EntryType.SYMLINK: "l", EntryType.OTHER: "o", EntryType.DIRECTORY: "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCopy:
    """A copy that the catalog has at a path."""

    artifact: Artifact
    replica: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a copy is on disk. `files` counts members of every type; `allocated_bytes` is as `du -s` counts."""

    files: int
    apparent_bytes: int
    allocated_bytes: int
    member_digest: str
    fingerprint: str
    newest_ns: int


class Tally:
    """Adds up one artifact.

    Members only count towards sizes and the member digest. The fingerprint is over everything below, strays and inner
    artifacts included, since it is compared with an observation, which knows no catalog.
    """

    def __init__(self, relative: bytes, *, inode: int, compared: ComparedMembers | None, keeps_members: bool) -> None:
        self.relative = relative
        self.compared = compared
        self.members = PackedMembers()
        self.incomplete = ""
        self._keeps_members = keeps_members
        self._files = self._apparent_bytes = self._allocated_bytes = self._newest_ns = 0
        self._member_digest = hashlib.sha256()
        self._fingerprint = hashlib.sha256(b"\0d\0%d\n" % inode)
        self._many_named: set[int] = set()

    def pass_by(self, relative: bytes, entry: Entry) -> None:
        """Take any entry below into the fingerprint; `relative` is relative to the artifact."""
        self._fingerprint.update(
            b"%b\0%b\0%d %d %d %d\n"
            % (
                relative,
                LETTERS[entry.type].encode("ascii"),
                entry.inode,
                entry.size_bytes,
                entry.modified_ns,
                entry.changed_ns,
            )
        )
        if entry.type is not EntryType.DIRECTORY:
            self._newest_ns = max(self._newest_ns, entry.modified_ns, entry.changed_ns)

    def add_member(self, relative: bytes, entry: Entry, tokens: int | None) -> None:
        """Take a member in; an inode with several names is weighed once."""
        letter = LETTERS[entry.type]
        self._member_digest.update(b"%b\0%b\0%d\n" % (relative, letter.encode("ascii"), entry.size_bytes))
        self._files += 1
        self._apparent_bytes += entry.size_bytes
        if entry.links <= 1 or entry.inode not in self._many_named:
            self._allocated_bytes += entry.allocated_bytes
        if entry.links > 1:
            self._many_named.add(entry.inode)
        if self._keeps_members:
            self.members.append((relative, letter, entry.size_bytes, tokens))

    def add_folder(self, allocated_bytes: int) -> None:
        """Take the blocks of a folder of the artifact in."""
        self._allocated_bytes += allocated_bytes

    def measured(self) -> Measured:
        """Return the sums so far."""
        return Measured(
            files=self._files,
            apparent_bytes=self._apparent_bytes,
            allocated_bytes=self._allocated_bytes,
            member_digest=self._member_digest.hexdigest(),
            fingerprint=self._fingerprint.hexdigest(),
            newest_ns=self._newest_ns,
        )


def measure_file(entry: Entry) -> Measured:
    """Return what a single-file artifact is; its one member has an empty path."""
    letter = LETTERS[entry.type].encode("ascii")
    numbers = b"%d %d %d" % (entry.inode, entry.size_bytes, entry.modified_ns)
    if entry.type is EntryType.FILE:
        numbers += b" %d" % entry.changed_ns
    return Measured(
        files=1,
        apparent_bytes=entry.size_bytes,
        allocated_bytes=entry.allocated_bytes,
        member_digest=hashlib.sha256(b"\0%b\0%d\n" % (letter, entry.size_bytes)).hexdigest(),
        fingerprint=hashlib.sha256(b"\0%b\0%b\n" % (letter, numbers)).hexdigest(),
        newest_ns=max(entry.modified_ns, entry.changed_ns),
    )


def file_member(entry: Entry, sighting: Sighting) -> Member:
    """Return the one member of a single-file artifact."""
    return (b"", LETTERS[entry.type], entry.size_bytes, sighting.tokens)


@dataclass(slots=True, kw_only=True)
class OpenTally:
    """An artifact under way: what recognition says, what the catalog says, and the sums.

    `anew` is what recognition says of an artifact whose drift a person accepted.
    """

    artifact: OpenArtifact
    known: KnownCopy | None
    tally: Tally
    tokens: dict[bytes, int]
    is_accepted: bool = False
    anew: Sighting | None = None
    stray_files: int = 0
    stray_bytes: int = 0
    stray_examples: list[bytes] = field(default_factory=list)
