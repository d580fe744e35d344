"""Members of an artifact, kept small until they are recorded.

An outer artifact's members arrive between those of the artifacts inside it, and are recorded when it ends. Packed, a
million of them weigh some ten megabytes.
"""

import zlib
from collections.abc import Iterator

from artifactctl.catalog.members import Member

_MEMBERS_PER_BLOCK = 4096


class PackedMembers:
    """An append-only sequence of (path, type letter, size in bytes, tokens or None)."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._open: list[bytes] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, member: Member) -> None:
        """Add one member; a path never holds a NUL byte."""
        relative, letter, size_bytes, tokens = member
        counted = b"" if tokens is None else b"%d" % tokens
        self._open.append(b"%b\0%b%d\0%b" % (relative, letter.encode("ascii"), size_bytes, counted))
        self._count += 1
        if len(self._open) == _MEMBERS_PER_BLOCK:
            self._blocks.append(zlib.compress(b"\0".join(self._open), 1))
            self._open = []

    def __iter__(self) -> Iterator[Member]:
        for block in self._blocks:
            yield from _unpack(zlib.decompress(block))
        if self._open:
            yield from _unpack(b"\0".join(self._open))


def _unpack(block: bytes) -> Iterator[Member]:
    fields = iter(block.split(b"\0"))
    for relative, sized, counted in zip(fields, fields, fields, strict=True):
        yield relative, chr(sized[0]), int(sized[1:]), int(counted) if counted else None
