"""The packed half of a merged corpus as a stream of records, read in pieces of bounded size.

R records, T tokens: `offsets` int64 [R+1], `lines` int64 [R], `token_ids` int32 [T], `sources` int32 [R], `loss_mask`
bool [T], `content_keys` uint8 [R, 32]; record r has the tokens from offsets[r] up to offsets[r+1].
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from artifactctl.recognition.safetensors_header import TornHeader, read_header
from artifactctl.recognition.seen import Read

KEY_BYTES = 32
_PIECE_BYTES = 4 * 1024 * 1024
_LONG, _INT = struct.Struct("<q"), struct.Struct("<i")
PACKED_DTYPES = {
    "offsets": "I64",
    "lines": "I64",
    "token_ids": "I32",
    "sources": "I32",
    "loss_mask": "BOOL",
    "content_keys": "U8",
}
"""Tensor to dtype, in the order of the file: widest first, so that each begins at a multiple of its width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRecord:
    """One record: the index of its source, its content key, its token ids [int32] and its loss mask [one byte each]."""

    source: int
    content_key: bytes
    ids: bytes
    mask: bytes


class PackedRecords:
    """The records of one packed file; TornHeader when its header is none."""

    def __init__(self, read: Read, relative: bytes, size_bytes: int) -> None:
        self._read = read
        self._relative = relative
        self._tensors = read_header(read, relative, size_bytes).tensors
        self._data = size_bytes - max((tensor.end for tensor in self._tensors.values()), default=0)
        self.problems: tuple[str, ...] = ()

    def against(self, *, records: int, tokens: int) -> list[str]:
        """Return where its header contradicts so many records and tokens."""
        shapes = {
            "offsets": (records + 1,),
            "lines": (records,),
            "token_ids": (tokens,),
            "sources": (records,),
            "loss_mask": (tokens,),
            "content_keys": (records, KEY_BYTES),
        }
        found = {name: (tensor.dtype, tensor.shape) for name, tensor in self._tensors.items()}
        return [
            f"its tensor {name} is {found.get(name)}, its manifest asks for {(PACKED_DTYPES[name], shape)}"
            for name, shape in shapes.items()
            if found.get(name) != (PACKED_DTYPES[name], shape)
        ]

    def records(self) -> Iterator[PackedRecord]:
        """Yield the records in order. It ends early, with `problems`, where the offsets make no sense."""
        offsets, sources = self._stream("offsets"), self._stream("sources")
        keys, ids, mask = self._stream("content_keys"), self._stream("token_ids"), self._stream("loss_mask")
        tokens = self._tensors["token_ids"].shape[0]
        (begin,) = _LONG.unpack(offsets.take(_LONG.size))
        if begin:
            self.problems = (f"its first record begins at token {begin:,}",)
            return
        for number in range(1, self._tensors["offsets"].shape[0]):
            (end,) = _LONG.unpack(offsets.take(_LONG.size))
            if not begin < end <= tokens:
                self.problems = (f"record {number:,} has the tokens from {begin:,} up to {end:,}",)
                return
            yield PackedRecord(
                source=_INT.unpack(sources.take(_INT.size))[0],
                content_key=keys.take(KEY_BYTES),
                ids=ids.take((end - begin) * _INT.size),
                mask=mask.take(end - begin),
            )
            begin = end
        if begin != tokens:
            self.problems = (f"its records have {begin:,} of its {tokens:,} tokens",)

    def content_keys(self) -> Iterator[bytes]:
        """Yield the content key of each record in order."""
        keys = self._stream("content_keys")
        for _ in range(self._tensors["content_keys"].shape[0]):
            yield keys.take(KEY_BYTES)

    def _stream(self, name: str) -> "_Stream":
        tensor = self._tensors[name]
        return _Stream(self._read, self._relative, self._data + tensor.begin, self._data + tensor.end)


class _Stream:
    """The bytes of one tensor, taken from the front."""

    def __init__(self, read: Read, relative: bytes, begin: int, end: int) -> None:
        self._read = read
        self._relative = relative
        self._next = begin
        self._end = end
        self._held = b""
        self._at = 0

    def take(self, length: int) -> bytes:
        """Return exactly so many bytes; TornHeader when the file has fewer."""
        if len(self._held) - self._at < length:
            self._fill(length)
        taken = self._held[self._at : self._at + length]
        self._at += length
        return taken

    def _fill(self, length: int) -> None:
        pieces = [self._held[self._at :]]
        missing = length - len(pieces[0])
        while missing > 0:
            piece = self._read(self._relative, self._next, min(_PIECE_BYTES, self._end - self._next))
            if not piece:
                raise TornHeader("it ends within a tensor")
            pieces.append(piece)
            self._next += len(piece)
            missing -= len(piece)
        self._held, self._at = b"".join(pieces), 0
