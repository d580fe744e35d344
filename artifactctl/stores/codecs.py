"""How the bytes of a member become those of its object, and back again without loss."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """A lossless way to store bytes; `suffix` ends the names of objects that were made by it."""

    name: str
    suffix: str
    encode: Callable[[Iterable[bytes]], Iterator[bytes]]
    decode: Callable[[Iterable[bytes]], Iterator[bytes]]


def _as_they_are(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield from pieces


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    import zstandard

    compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compressobj()
    for piece in pieces:
        if compressed := compressor.compress(piece):
            yield compressed
    yield compressor.flush()


def _decompressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor().decompressobj()
    for piece in pieces:
        if plain := decompressor.decompress(piece):
            yield plain


RAW = Codec(name="raw", suffix="", encode=_as_they_are, decode=_as_they_are)
ZSTD = Codec(name="zstd", suffix=".zst", encode=_compressed, decode=_decompressed)
CODECS = {codec.name: codec for codec in (RAW, ZSTD)}
