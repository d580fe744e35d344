"""What our own acts did to inodes with several names, as proof for the other names of them, and to single files.

Unlinking or renaming one name changes the ctime (and link count) that every other name shows, in other quarantines as
well; setting aside a target that is a file changes its own. `witness` records such acts in `.artifactctl/own-changes`,
one line a change: CRC-32, inode, birth, size, mtime, then ctime and links before and after. A line that is torn or no
such record proves nothing and is passed over. The file goes when nothing is in quarantine any more.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import durable, manifest, places, room
from artifactctl.hosts.probe.failures import ManifestDamaged
from artifactctl.hosts.probe.kernel import FileStatus
from artifactctl.hosts.probe.manifest import Member
from artifactctl.hosts.probe.operation import open_operation_folder
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, give_to_owner

_RECORD = re.compile(rb"([0-9a-f]{8}) (-?[0-9]+(?: -?[0-9]+){7})")

Moment = Tuple[int, int]
"""(ctime in nanoseconds, number of links)."""


class Change(NamedTuple):
    """One act of ours: which inode, what stayed as it was, and the two moments."""

    inode: int
    birth_ns: int
    size: int
    modified_ns: int
    before: Moment
    after: Moment

    @classmethod
    def between(cls, before: FileStatus, after: FileStatus, *, is_whole: bool = False) -> "Optional[Change]":
        """Return the change, None when more than ctime and link count differ or the inode cannot be told apart.

        A target that is a file by itself (`is_whole`) can be told apart without birth time: only its own manifest asks.
        """
        same = before._replace(changed_ns=after.changed_ns, links=after.links, accessed_ns=after.accessed_ns)
        if same != after or (before.birth_ns is None and not is_whole):
            return None
        moments = (before.changed_ns, before.links), (after.changed_ns, after.links)
        return cls(before.inode, before.birth_ns or 0, before.size, before.modified_ns, *moments)

    def line(self) -> bytes:
        """Return the record."""
        kept = (self.inode, self.birth_ns, self.size, self.modified_ns)
        body = b" ".join(b"%d" % number for number in (*kept, *self.before, *self.after))
        return b"%08x %b\n" % (zlib.crc32(body), body)


def append(root: RootFolder, changes: List[Change]) -> None:
    """Add the records durably. They begin with an empty line, which ends what a full disk or a crash left torn."""
    if not changes:
        return
    content = b"\n" + b"".join(change.line() for change in changes)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(places.OWN_CHANGES, flags, 0o600, dir_fd=root.private_fd)
    try:
        give_to_owner(descriptor, root.private_fd)
        end = os.fstat(descriptor).st_size
        try:
            room.with_room(root.private_fd, lambda: durable.write_all(descriptor, content, end))
        except OSError as error:
            if error.errno not in room.NO_ROOM:
                raise
            return  # not even ballast is left: then the other names stay unproven, and nothing else is lost
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def forget(root: RootFolder) -> None:
    """Remove the records: nothing is in quarantine that they could speak for."""
    try:
        os.unlink(places.OWN_CHANGES, dir_fd=root.private_fd)
    except FileNotFoundError:
        return


def _recorded(root: RootFolder) -> Dict[Tuple[int, int], List[Change]]:
    """Return the changes by inode and birth."""
    found: Dict[Tuple[int, int], List[Change]] = {}
    try:
        lines = durable.read_file(places.OWN_CHANGES, root.private_fd).splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        parts = _RECORD.fullmatch(line)
        if parts is None or parts[1] != b"%08x" % zlib.crc32(parts[2]):
            continue
        inode, birth, size, modified, *moments = (int(word) for word in parts[2].split())
        change = Change(inode, birth, size, modified, (moments[0], moments[1]), (moments[2], moments[3]))
        found.setdefault((inode, birth), []).append(change)
    return found


class Excuses:
    """Tells for each member of a quarantine which ctime it would have had without our own acts.

    Only those recorded are ours: from the moment in the manifest they must lead, one after the other, to exactly the
    ctime and link count that are there now. Anybody else's act in between or after breaks that chain.
    """

    def __init__(self, root: RootFolder, operation: str) -> None:
        """Read what is recorded about the members that the manifest lists; a torn manifest excuses nothing."""
        recorded = _recorded(root)
        self._members: Dict[int, Tuple[Member, List[Change]]] = {}
        try:
            for member in _members(root, operation) if recorded else ():
                changes = recorded.get((member.inode, member.birth_ns or 0))
                if changes:
                    self._members[member.inode] = (member, changes)
        except (ManifestDamaged, FileNotFoundError):
            self._members = {}

    def of(self, status: FileStatus) -> FileStatus:
        """Return the status with the ctime of the manifest where our own acts account for all that differs."""
        known = self._members.get(status.inode)
        if known is None or known[0].birth_ns != status.birth_ns:
            return status
        member, changes = known
        following = {c.before: c.after for c in changes if (c.size, c.modified_ns) == (member.size, member.modified_ns)}
        moment = (member.changed_ns, member.links)
        for _ in range(len(following) + 1):
            if moment == (status.changed_ns, status.links):
                return status._replace(changed_ns=member.changed_ns)
            if moment not in following:
                break
            moment = following[moment]
        return status


def _members(root: RootFolder, operation: str) -> Iterator[Member]:
    folder_fd, _ = open_operation_folder(root, places.operation_folder(operation))
    with closing(folder_fd):
        yield from manifest.read(folder_fd, operation)
