"""How the bytes of a member become those of its object, and back again without loss."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from artifactctl.codecs.blocks import BrokenBlock
from artifactctl.codecs.streams import decode_stream, encode_stream

ZSTD_LEVEL = 3


class Undecodable(ValueError):
    """The stored bytes are not what the codec wrote; the message says in which way."""


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
        try:
            plain = decompressor.decompress(piece)
        except zstandard.ZstdError as error:
            raise Undecodable(str(error)) from error
        if plain:
            yield plain


def _in_planes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    return encode_stream(_reader(pieces))


def _from_planes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    try:
        for plain in decode_stream(_reader(pieces)):
            yield bytes(plain)
    except BrokenBlock as broken:
        raise Undecodable(str(broken)) from broken


def _reader(pieces: Iterable[bytes]) -> Callable[[int], bytes]:
    """Return read(length) over pieces of any length: fewer bytes only at the end."""
    coming, left = iter(pieces), bytearray()

    def read(length: int) -> bytes:
        while len(left) < length and (piece := next(coming, None)) is not None:
            left.extend(piece)
        taken = bytes(left[:length])
        del left[:length]
        return taken

    return read


RAW = Codec(name="raw", suffix="", encode=_as_they_are, decode=_as_they_are)
ZSTD = Codec(name="zstd", suffix=".zst", encode=_compressed, decode=_decompressed)
PLANES = Codec(name="planes", suffix=".planes", encode=_in_planes, decode=_from_planes)
CODECS = {codec.name: codec for codec in (RAW, ZSTD, PLANES)}
