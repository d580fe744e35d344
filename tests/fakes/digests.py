"""The two digests of a tree, as `TreeSummary` documents them."""

import hashlib
from collections.abc import Iterable

from artifactctl.domain.identity import member_order
from artifactctl.hosts.protocol import EntryType
from tests.fakes.disk import Spot

Member = tuple[bytes, Spot]
"""A path relative to the target (b"" when the target is a file) and what stands there."""


def member_digest(members: Iterable[Member]) -> str:
    """Return SHA-256 over (path, type, size) of everything that is not a folder."""
    digest = hashlib.sha256()
    for relative, spot in sorted(members, key=lambda member: member_order(member[0])):
        if spot.inode.type is not EntryType.DIRECTORY:
            digest.update(relative + b"\0" + spot.inode.type.encode() + b"\0%d\0" % spot.inode.size_bytes)
    return digest.hexdigest()


def fingerprint(top: Spot, members: Iterable[Member]) -> str:
    """Return SHA-256 over what would differ after any change below, and the top's inode.

    A rename changes the ctime of the top, so a target that is one file counts by inode, size and mtime.
    """
    digest = hashlib.sha256(b"%d\0" % top.number)
    for relative, spot in sorted(members, key=lambda member: member_order(member[0])):
        inode = spot.inode
        changed_ns = inode.changed_ns if spot != top else 0
        facts = b"%d %d %d %d" % (inode.number, inode.size_bytes, inode.modified_ns, changed_ns)
        digest.update(relative + b"\0" + inode.type.encode() + b"\0" + facts + b"\0")
    return digest.hexdigest()
