"""A copy as it is on disk now, against its catalogued members."""

from dataclasses import dataclass, field

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact, Replica
from artifactctl.domain.observation import MemberDrift
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Entry, EntryType, Host, Listing
from artifactctl.inventory.comparing import ComparedMembers
from artifactctl.inventory.ordering import Ordering
from artifactctl.inventory.packing import PackedMembers
from artifactctl.inventory.tallies import LETTERS, Tally, measure_file
from artifactctl.inventory.targets import is_file
from artifactctl.recognition.membership import is_transient


@dataclass(slots=True, kw_only=True)
class Copy:
    """`members` are the catalogued members that are there; `top` is the folder's listing, None for a file."""

    path: bytes
    fingerprint: str = ""
    members: PackedMembers = field(default_factory=PackedMembers)
    problems: list[str] = field(default_factory=list)
    top: Listing | None = None


def read_copy(host: Host, catalog: Catalog, artifact: Artifact, replica: Replica) -> Copy:
    """Walk a copy once. Its problems: members that are missing or of another size, folders that cannot be read."""
    copy = Copy(path=replica.root.path + b"/" + replica.relative)
    if host.identity(copy.path) is None:
        copy.problems.append(f"nothing is at {display_path(copy.path)}")
        return copy
    compared = ComparedMembers(catalog, artifact.artifact_id)
    try:
        _Reader(copy, compared).read(host)
    except BaseException:
        compared.close()
        raise
    copy.problems += _described(compared.end())
    return copy


class _Reader:
    """Takes the entries of one copy in member order."""

    def __init__(self, copy: Copy, compared: ComparedMembers) -> None:
        self._copy = copy
        self._compared = compared
        self._tally: Tally | None = None

    def read(self, host: Host) -> None:
        ordering: Ordering[Entry] = Ordering(self._give)
        for listing in host.walk(self._copy.path):
            if not listing.relative and is_file(listing):
                self._read_file(listing.entries[0])
                return
            if self._tally is None:
                self._tally = Tally(b"", inode=listing.inode, compared=None, keeps_members=False)
                self._copy.top = listing
            if listing.problem:
                self._copy.problems.append(listing.problem)
            ordering.advance(listing.relative)
            ordering.put(listing.relative, [(entry.name, entry) for entry in listing.entries])
        ordering.advance(None)
        if self._tally is not None:
            self._copy.fingerprint = self._tally.measured().fingerprint

    def _read_file(self, entry: Entry) -> None:
        self._copy.fingerprint = measure_file(entry).fingerprint
        if self._compared.meet(b"", LETTERS[entry.type], entry.size_bytes):
            self._copy.members.append((b"", LETTERS[entry.type], entry.size_bytes, None))

    def _give(self, relative: bytes, entry: Entry) -> None:
        assert self._tally is not None
        self._tally.pass_by(relative, entry)
        if entry.type is EntryType.DIRECTORY:
            return
        letter = LETTERS[entry.type]
        if self._compared.meet(relative, letter, entry.size_bytes):
            self._copy.members.append((relative, letter, entry.size_bytes, None))
        elif is_transient(entry.name):
            self._copy.problems.append(f"{display_path(relative)}: something is still being written")


def _described(drift: MemberDrift) -> list[str]:
    problems = [f"{display_path(relative)}: missing" for relative in drift.missing_examples]
    problems += [
        f"{display_path(relative)}: {after} bytes, catalogued with {before}"
        for relative, before, after in drift.resized_examples
    ]
    unlisted = drift.missing + drift.resized - len(problems)
    return [*problems, f"and {unlisted} members more are missing or of another size"] if unlisted else problems
