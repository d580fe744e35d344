"""Walks over the fake disk: no link followed, no mount crossed, bytes order."""

import errno
import posixpath
import re
from collections.abc import Iterator
from functools import partial

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import MARKER_DIRECTORY
from artifactctl.hosts.protocol import Entry, EntryType, Listing
from tests.fakes.digests import Member
from tests.fakes.disk import Disk, Spot

SIBLING = rb"\.artifactctl-quarantine-[A-Za-z0-9][A-Za-z0-9_-]*"


def walk(disk: Disk, path: bytes) -> Iterator[Listing]:
    """Yield one listing for each folder below `path`; a file yields one listing with itself."""
    top = disk.look(path)
    if top is None:
        raise HostFailure(f"nothing stands at {path!r}")
    if top.inode.type is not EntryType.DIRECTORY:
        entry = entry_of(posixpath.basename(path), top)
        yield Listing(relative=b"", entries=(entry,), allocated_bytes=0, inode=top.number)
        return
    pending = [b""]
    while pending:
        relative = pending.pop()
        listing = _listing(disk, path, relative, top)
        yield listing
        folders = [entry.name for entry in listing.entries if entry.type is EntryType.DIRECTORY]
        pending += [posixpath.join(relative, name) for name in reversed(folders)]


def members_of(disk: Disk, path: bytes) -> Iterator[Member]:
    """Yield everything below a folder in member order, or the file itself as b""."""
    top = disk.find(path)
    if top.inode.type is not EntryType.DIRECTORY:
        yield b"", top
        return
    pending = [b""]
    while pending:
        relative = pending.pop()
        spot = disk.find(posixpath.join(path, relative) if relative else path)
        if relative:
            yield relative, spot
        if spot.inode.type is EntryType.DIRECTORY and spot.mount is top.mount:
            names = [name for name in sorted(spot.inode.entries, reverse=True) if relative or name != MARKER_DIRECTORY]
            pending += [posixpath.join(relative, name) for name in names]


def entry_of(name: bytes, spot: Spot) -> Entry:
    """Return what lstat says."""
    inode = spot.inode
    return Entry(
        name=name,
        type=inode.type,
        size_bytes=inode.size_bytes,
        allocated_bytes=inode.allocated_bytes,
        inode=inode.number,
        links=inode.links,
        modified_ns=inode.modified_ns,
        changed_ns=inode.changed_ns,
        link_target=inode.link_target,
    )


def _listing(disk: Disk, top_path: bytes, relative: bytes, top: Spot) -> Listing:
    path = posixpath.join(top_path, relative) if relative else top_path
    spot = disk.find(path)
    inode = spot.inode
    seen = partial(Listing, relative=relative, allocated_bytes=inode.allocated_bytes, inode=inode.number)
    if spot.mount is not top.mount:
        return seen(entries=(), is_mount=True)
    code = inode.read_error or (0 if inode.readable_by(disk.user) else errno.EACCES)
    if code:
        return seen(entries=(), problem=errno.errorcode[code])
    names = [name for name in sorted(inode.entries) if relative or name != MARKER_DIRECTORY]
    entries = (entry_of(name, disk.find(posixpath.join(path, name))) for name in names)
    return seen(entries=tuple(each for each in entries if not _sets_aside(each)))


def _sets_aside(entry: Entry) -> bool:
    return entry.type is EntryType.DIRECTORY and re.fullmatch(SIBLING, entry.name) is not None
