"""The member manifest of an operation: what may be unlinked, and nothing else.

A gzip stream of records in depth-first byte order, so that depth and name of each record give its path and a tree
5,000 levels deep costs no more than a flat one. A record is blank-separated numbers, the name, NUL, the link target,
NUL; the first names the operation, the last carries the count and the SHA-256 of everything before it. The file may
have been filled ahead of need: what follows the end of the stream means nothing.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Callable, Iterator, List, NamedTuple, Optional, Union

from artifactctl.hosts.probe import durable, places
from artifactctl.hosts.probe.failures import ManifestDamaged
from artifactctl.hosts.probe.kernel import FileStatus
from artifactctl.hosts.probe.points import reached

_SCHEMA = b"artifactctl.manifest/1"
_GZIP = 31
_CHUNK_BYTES = 1 << 18


class Member(NamedTuple):
    """One member. Depth 0 is the top itself; `kind` is f, d, l or o; times are nanoseconds since 1970."""

    depth: int
    kind: str
    inode: int
    birth_ns: Optional[int]
    size: int
    allocated_bytes: int
    modified_ns: int
    changed_ns: int
    links: int
    name: bytes
    link_target: bytes


def encode(member: Member) -> bytes:
    """Return a member's record."""
    return b"%d %s %d %s %d %d %d %d %d %s\0%s\0" % (
        member.depth,
        member.kind.encode(),
        member.inode,
        b"-" if member.birth_ns is None else b"%d" % member.birth_ns,
        member.size,
        member.allocated_bytes,
        member.modified_ns,
        member.changed_ns,
        member.links,
        member.name,
        member.link_target,
    )


def decode(head: bytes, link_target: bytes) -> Member:
    """Return the member of a record's two parts; ValueError when it is none, or its name could lead elsewhere."""
    depth, kind, inode, birth, size, allocated, modified, changed, links, name = head.split(b" ", 9)
    if b"/" in name or name in (b"", b".", b"..") or int(depth) < 0:
        raise ValueError(f"{name!r} names no entry of a folder")
    return Member(
        int(depth),
        kind.decode(),
        int(inode),
        None if birth == b"-" else int(birth),
        int(size),
        int(allocated),
        int(modified),
        int(changed),
        int(links),
        name,
        link_target,
    )


def kind_of(status: FileStatus) -> str:
    """Return the letter of a file, folder, link or other."""
    if status.is_directory:
        return "d"
    if status.is_regular:
        return "f"
    return "l" if status.is_symlink else "o"


def matches(member: Member, status: FileStatus) -> bool:
    """Whether what stands there now is what the manifest says.

    Folders change in size and time while they are emptied, the change time of a file while other names of it go: only
    where the filesystem reports no birth time does the change time of a file with one name have to stand in.
    """
    return kind_of(status) == member.kind and _is_same(member, status)


def agrees(member: Member, found: Member) -> bool:
    """The same for what a walk found."""
    return found.kind == member.kind and _is_same(member, found)


def _is_same(member: Member, seen: "Union[FileStatus, Member]") -> bool:
    if seen.inode != member.inode or seen.birth_ns != member.birth_ns:
        return False
    if member.kind == "d":
        return True
    if seen.size != member.size or seen.modified_ns != member.modified_ns:
        return False
    return member.birth_ns is not None or member.links > 1 or seen.changed_ns == member.changed_ns


class _Writer:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0
        self._pending: List[bytes] = []
        self._pending_bytes = 0
        self._compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        self._digest = hashlib.sha256()

    def add(self, record: bytes) -> None:
        self._pending.append(record)
        self._pending_bytes += len(record)
        if self._pending_bytes >= _CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        block = b"".join(self._pending)
        self._digest.update(block)
        self._put(self._compressor.compress(block))
        self._pending, self._pending_bytes = [], 0

    def _put(self, compressed: bytes) -> None:
        durable.write_all(self._descriptor, compressed, self._offset)
        self._offset += len(compressed)

    def finish(self, count: int) -> None:
        self._flush()
        reached("intend:manifest-half-written")
        self._put(self._compressor.compress(b"end %d %s\0\0" % (count, self._digest.hexdigest().encode())))
        self._put(self._compressor.flush())
        os.fsync(self._descriptor)


def write(folder_fd: int, operation: str, members: Iterator[Member], each: Callable[[Member], None]) -> int:
    """Write and fsync the manifest, calling `each` for every member; returns how many there are."""
    descriptor = durable.open_to_overwrite(places.MANIFEST, folder_fd)
    count = 0
    try:
        writer = _Writer(descriptor)
        writer.add(b"%s %s\0\0" % (_SCHEMA, operation.encode()))
        for member in members:
            writer.add(encode(member))
            each(member)
            count += 1
        writer.finish(count)
    finally:
        os.close(descriptor)
    return count


def read(folder_fd: int, operation: str) -> Iterator[Member]:
    """Yield the members; ManifestDamaged, possibly only at the end, when it is torn or of another operation.

    Act on nothing it yields before `verify` has read it to its end.
    """
    digest = hashlib.sha256()
    records = _records(folder_fd)
    if next(records, None) != (b"%s %s" % (_SCHEMA, operation.encode()), b""):
        raise _damaged(operation, "its beginning is not that of this operation's manifest")
    digest.update(b"%s %s\0\0" % (_SCHEMA, operation.encode()))
    deepest = 0
    for count, (head, link_target) in enumerate(records):
        if head.startswith(b"end "):
            if head != b"end %d %s" % (count, digest.hexdigest().encode()):
                raise _damaged(operation, "its content does not have the digest it ends with")
            return
        digest.update(head + b"\0" + link_target + b"\0")
        try:
            member = decode(head, link_target)
        except ValueError as error:
            raise _damaged(operation, f"member {count} is unreadable") from error
        if not (1 if count else 0) <= member.depth <= deepest:
            raise _damaged(operation, f"member {count} lies in no folder before it")
        deepest = member.depth + (member.kind == "d")
        yield member
    raise _damaged(operation, "its end is missing")


def verify(folder_fd: int, operation: str) -> bool:
    """Whether the manifest is there and whole."""
    try:
        for _ in read(folder_fd, operation):
            pass
    except (ManifestDamaged, FileNotFoundError):
        return False
    return True


def _damaged(operation: str, what: str) -> ManifestDamaged:
    return ManifestDamaged(
        f"the member manifest of operation {operation} is damaged: {what}",
        remedy=f"nothing of it can be purged; `artifactctl quarantine restore {operation}` gives it back",
    )


def _records(folder_fd: int) -> "Iterator[tuple[bytes, bytes]]":
    """Yield (head, link target) of whole records until the stream ends or cannot be read further."""
    rest = b""
    for block in _blocks(folder_fd):
        parts = (rest + block).split(b"\0")
        whole = (len(parts) - 1) // 2 * 2
        for index in range(0, whole, 2):
            yield parts[index], parts[index + 1]
        rest = b"\0".join(parts[whole:])


def _blocks(folder_fd: int) -> Iterator[bytes]:
    descriptor = os.open(places.MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        stream = zlib.decompressobj(_GZIP)
        offset = 0
        while not stream.eof:
            compressed = os.pread(descriptor, _CHUNK_BYTES // 4, offset)
            if not compressed:
                return
            offset += len(compressed)
            try:
                yield stream.decompress(compressed)
            except zlib.error:  # torn: the records end here, without their last one
                return
    finally:
        os.close(descriptor)
