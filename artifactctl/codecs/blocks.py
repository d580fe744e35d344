"""The blocks that bf16 is coded in: self-describing, each decoded by itself.

A block, all numbers little-endian and unsigned:

    magic "BFP1" | form of the exponent plane (1 byte) | form of the low plane (1) | odd bytes (1) | zero (1)
    columns (4) | elements (4) | bytes of centres (4) | bytes of the exponent plane (4) | bytes of the low plane (4)
    centres, one byte a column, as a zstd frame; absent when nothing was subtracted
    exponent plane: bits 14..7 less the centre | low plane: bits 6..0, then the sign as the lowest bit
    the odd byte at the end of raw data of odd length

A form is 0 for raw bytes and 1 for a zstd frame. A block needs nothing but itself to be decoded.
"""

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAGIC = b"BFP1"
HEADER = struct.Struct("<4sBBBBIIIII")
RAW, ZSTD = 0, 1
LARGEST_BLOCK_ELEMENTS = 2**28
"""A block of half a gibibyte; a header that claims more is damaged."""


class BrokenBlock(ValueError):
    """The bytes are no whole block; the message says in which way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHeader:
    """What the first bytes of a block say; `block_bytes` is its whole length, `raw_bytes` that of what it codes."""

    exponent_form: int
    low_form: int
    odd_bytes: int
    columns: int
    elements: int
    centre_bytes: int
    exponent_bytes: int
    low_bytes: int

    @property
    def block_bytes(self) -> int:
        """The length of the block, its header included."""
        return HEADER.size + self.centre_bytes + self.exponent_bytes + self.low_bytes + self.odd_bytes

    @property
    def raw_bytes(self) -> int:
        """The length of what comes out."""
        return 2 * self.elements + self.odd_bytes


def read_block_header(head: "ReadableBuffer") -> BlockHeader:
    """Return the header at the start of `head`; BrokenBlock when it is cut off or none."""
    view = memoryview(head).cast("B")
    if len(view) < HEADER.size:
        raise BrokenBlock("it ends within a block's header")
    magic, exponent_form, low_form, odd, zero, *sizes = HEADER.unpack_from(view)
    columns, elements, centre_bytes, exponent_bytes, low_bytes = sizes
    plausible = exponent_form in (RAW, ZSTD) and low_form in (RAW, ZSTD) and odd <= 1 and zero == 0 and columns > 0
    if (
        magic != MAGIC
        or not plausible
        or elements > LARGEST_BLOCK_ELEMENTS
        or (centre_bytes and (columns > elements or elements % columns))
    ):
        raise BrokenBlock("its first bytes are no block of planes")
    for form, size in ((exponent_form, exponent_bytes), (low_form, low_bytes)):
        if form == RAW and size != elements:
            raise BrokenBlock("a raw plane has not the bytes that its elements ask for")
    return BlockHeader(
        exponent_form=exponent_form,
        low_form=low_form,
        odd_bytes=odd,
        columns=columns,
        elements=elements,
        centre_bytes=centre_bytes,
        exponent_bytes=exponent_bytes,
        low_bytes=low_bytes,
    )


def largest_block_bytes(raw_bytes: int, columns: int = 1) -> int:
    """Return what a block of so many raw bytes can take at most: planes that do not shrink stay raw."""
    return HEADER.size + raw_bytes + columns + 64
