"""A file of any length as a row of self-describing blocks, each decoded by itself."""

from collections.abc import Callable, Iterator

from artifactctl.codecs.planes import HEADER, BrokenBlock, PlanesDecoder, PlanesEncoder, read_block_header

BLOCK_BYTES = 4 * 2**20

Read = Callable[[int], bytes]
"""read(length): up to so many bytes, fewer only at the end."""


def encode_stream(read: Read, *, columns: int = 1, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the coded blocks of everything that `read` returns. A row of `columns` bf16 never spans two blocks."""
    row_bytes = 2 * columns
    raw_bytes = max(1, block_bytes // row_bytes) * row_bytes
    encoder = PlanesEncoder(columns)
    while raw := read(raw_bytes):
        yield encoder.encode(raw)


def decode_stream(read: Read) -> Iterator[bytearray]:
    """Yield what each block holds; BrokenBlock when the stream is cut off inside one, or is none."""
    decoder = PlanesDecoder()
    while head := read(HEADER.size):
        rest = read_block_header(head).block_bytes - len(head)
        block = head + read(rest)
        if len(block) != len(head) + rest:
            raise BrokenBlock("it ends within a block")
        yield decoder.decode(block)
