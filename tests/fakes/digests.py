"""The two digests of a tree, as `TreeSummary` documents them."""

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from artifactctl.domain.identity import member_order
from artifactctl.domain.members import member_digest
from artifactctl.hosts.protocol import EntryType
from tests.fakes.disk import Spot

Member = tuple[bytes, Spot]
"""A path relative to the target (b"" when the target is a file) and what stands there."""


LETTERS = {EntryType.FILE: "f", EntryType.SYMLINK: "l", EntryType.OTHER: "o"}


def digest_of(members: Iterable[Member]) -> str:
    """Return the domain's digest over everything that is not a folder."""
    ordered = sorted(members, key=lambda member: member_order(member[0]))
    return member_digest(
        (relative, LETTERS[spot.inode.type], spot.inode.size_bytes)
        for relative, spot in ordered
        if spot.inode.type in LETTERS
    )


def fingerprint(top: Spot, members: Iterable[Member], excused: Mapping[int, int] = MappingProxyType({})) -> str:
    """Return SHA-256 over what would differ after any change below, and the top's inode.

    A rename changes the ctime of a top folder, which is left out; of a target that is one file it counts. `excused`
    gives by inode number the ctime that a member would have without our own acts.
    """
    digest = hashlib.sha256(b"%d\0" % top.number)
    for relative, spot in sorted(members, key=lambda member: member_order(member[0])):
        inode = spot.inode
        counts = spot != top or inode.type is EntryType.FILE
        changed_ns = excused.get(inode.number, inode.changed_ns) if counts else 0
        facts = b"%d %d %d %d" % (inode.number, inode.size_bytes, inode.modified_ns, changed_ns)
        digest.update(relative + b"\0" + inode.type.encode() + b"\0" + facts + b"\0")
    return digest.hexdigest()
