"""One tokenised record as bytes, so that sorting the bytes sorts the records.

Place in the order [16], source [4] and line [8], big endian; then what follows decides nothing any more: content key
[32], number of tokens [4], token ids [T, int32, little endian], loss mask [T], the readable record in UTF-8.
"""

import hashlib
import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from extract.merging.shuffling import place_of

_HEAD = struct.Struct(">16sIQ32sI")
ID_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record that is kept unless it is a duplicate. `ids` are the bytes of int32 [T], `mask` one byte a token."""

    source: int
    line: int
    content_key: bytes
    ids: bytes
    mask: bytes
    readable: bytes

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return len(self.mask)


def id_bytes(ids: Sequence[int]) -> bytes:
    """Return token ids as int32, little endian."""
    packed = array("i", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def content_key(ids: bytes) -> bytes:
    """Return the identity of a record: the SHA-256 of its token ids as int32, little endian."""
    return hashlib.sha256(ids).digest()


def pack(entry: Entry, *, seed: int) -> bytes:
    """Return the entry as bytes that sort by its place."""
    place = place_of(entry.content_key, seed)
    head = _HEAD.pack(place, entry.source, entry.line, entry.content_key, entry.tokens)
    return b"".join((head, entry.ids, entry.mask, entry.readable))


def unpack(packed: bytes) -> Entry:
    """Return the entry that `pack` packed."""
    _place, source, line, key, tokens = _HEAD.unpack_from(packed)
    ids_end = _HEAD.size + tokens * ID_BYTES
    mask_end = ids_end + tokens
    return Entry(
        source=source,
        line=line,
        content_key=key,
        ids=packed[_HEAD.size : ids_end],
        mask=packed[ids_end:mask_end],
        readable=packed[mask_end:],
    )
