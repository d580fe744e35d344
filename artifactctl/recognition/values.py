"""Numbers that are none: where a member of a dump of hidden states holds NaN or an infinity.

A state that overflowed or was never written teaches a draft model nothing, and no header tells of it: every byte of the
floating tensors is read. IEEE 754 and bfloat16 mark such a number by an exponent of ones only, which the highest bytes
of an element show. Packed shards whose states are coded are passed over; their writer refuses such states.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from artifactctl.domain.errors import HostFailure
from artifactctl.recognition import torch_archive
from artifactctl.recognition.contents import GZIP_SLACK_BYTES, tensors_in
from artifactctl.recognition.pickled_tensors import NotPlainTensors, PickledTensor, describe
from artifactctl.recognition.safetensors_header import SafetensorsHeader, TornHeader, read_header
from artifactctl.recognition.seen import Read

PIECE_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class _Float:
    """An element of `width` bytes, little endian. Its highest byte is one of `highest`, and `below` are all set in the
    next lower one, exactly when it is no finite number."""

    width: int
    highest: re.Pattern[bytes]
    below: int = 0


_EIGHT_BITS_OF_EXPONENT = re.compile(rb"[\x7f\xff]")
_FIVE_BITS_OF_EXPONENT = re.compile(rb"[\x7c-\x7f\xfc-\xff]")
FLOATS = {
    "BF16": _Float(2, _EIGHT_BITS_OF_EXPONENT, 0x80),
    "F16": _Float(2, _FIVE_BITS_OF_EXPONENT),
    "F32": _Float(4, _EIGHT_BITS_OF_EXPONENT, 0x80),
    "F64": _Float(8, _EIGHT_BITS_OF_EXPONENT, 0xF0),
    "F8_E4M3": _Float(1, _EIGHT_BITS_OF_EXPONENT),  # it has no infinities, only NaN
    "F8_E5M2": _Float(1, _FIVE_BITS_OF_EXPONENT),
}
_STORAGES = {"BFloat16Storage": "BF16", "HalfStorage": "F16", "FloatStorage": "F32", "DoubleStorage": "F64"}


def first_not_finite(element: str, content: bytes) -> int | None:
    """Return the index of the first element that is NaN or infinite, None when all are finite.

    `element` is a key of FLOATS; `content` holds whole elements.
    """
    kind = FLOATS[element]
    highest = content[kind.width - 1 :: kind.width]
    for found in kind.highest.finditer(highest):
        index = found.start()
        if not kind.below or content[index * kind.width + kind.width - 2] & kind.below == kind.below:
            return index
    return None


def values_problem(read: Read, relative: bytes, size_bytes: int) -> str:
    """Return which tensor of a member holds a number that is not finite, empty when none does.

    The member's header has been found whole. What holds no floating tensors is not read.
    """
    try:
        if relative.endswith(b".safetensors"):
            return _in_safetensors(read, relative, read_header(read, relative, size_bytes))
        if relative.endswith(b".ckpt.gz"):
            content = _unpacked(read, relative, size_bytes)
            return _in_torch(lambda _name, begin, length: content[begin : begin + length], relative, len(content))
        return _in_torch(read, relative, size_bytes) if relative.endswith(b".ckpt") else ""
    except HostFailure as failure:
        return f"cannot be read: {failure.message}"
    except (TornHeader, torch_archive.TornArchive) as torn:
        return str(torn)


def _in_safetensors(read: Read, relative: bytes, header: SafetensorsHeader) -> str:
    data = header.file_bytes - max((tensor.end for tensor in header.tensors.values()), default=0)
    for name, tensor in header.tensors.items():
        if tensor.dtype in FLOATS:
            problem = _in_range(read, relative, name, tensor.dtype, data + tensor.begin, data + tensor.end)
            if problem:
                return problem
    return ""


def _in_torch(read: Read, relative: bytes, size_bytes: int) -> str:
    archive = torch_archive.open_archive(read, relative, size_bytes)
    try:
        content = describe(archive.pickle)
    except NotPlainTensors:
        return "it holds something else than plain tensors, which is not read"
    for name, tensor in _named(content):
        element = _STORAGES.get(tensor.storage_class)
        if element is not None:
            begin, end = torch_archive.storage_range(read, relative, archive, tensor)
            problem = _in_range(read, relative, name, element, begin, end)
            if problem:
                return problem
    return ""


def _named(content: object) -> Iterator[tuple[str, PickledTensor]]:
    if isinstance(content, dict):
        for name, value in content.items():
            yield from ((str(name), tensor) for tensor in tensors_in(value))
    else:
        yield from (("its tensor", tensor) for tensor in tensors_in(content))


def _in_range(read: Read, relative: bytes, name: str, element: str, begin: int, end: int) -> str:
    width = FLOATS[element].width
    for start in range(begin, end, PIECE_BYTES):
        piece = read(relative, start, min(PIECE_BYTES, end - start))
        if len(piece) < min(PIECE_BYTES, end - start):
            return "it was cut off while it was read"
        index = first_not_finite(element, piece)
        if index is not None:
            number = (start - begin) // width + index
            return f"{name} holds a number that is not finite (NaN or infinite), the first is element {number:,}"
    return ""


def _unpacked(read: Read, relative: bytes, size_bytes: int) -> bytes:
    """Return what a gzipped sample holds; TornArchive when it is longer than its own tensors say, or damaged."""
    try:
        tensors = tensors_in(describe(torch_archive.pickle_at_head(torch_archive.gzip_head(read, relative))))
    except NotPlainTensors as error:
        raise torch_archive.TornArchive("its head holds no plain tensors") from error
    most_bytes = sum(tensor.storage_bytes for tensor in tensors) + GZIP_SLACK_BYTES
    stream, content = zlib.decompressobj(wbits=31), bytearray()
    try:
        for start in range(0, size_bytes, PIECE_BYTES):
            piece = read(relative, start, min(PIECE_BYTES, size_bytes - start))
            content += stream.decompress(piece, most_bytes + 1 - len(content))
            if len(content) > most_bytes:
                raise torch_archive.TornArchive("it unpacks to more than its tensors hold")
    except zlib.error as error:
        raise torch_archive.TornArchive("its compression is damaged") from error
    return bytes(content)
