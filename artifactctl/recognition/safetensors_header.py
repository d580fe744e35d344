"""The header of a safetensors file: 8 bytes of length (little endian), JSON, then the data.

The data must fill the file exactly (specification: no holes, no bytes after the last tensor), so that a truncated file
is seen from its header and its size alone.
"""

import json
from dataclasses import dataclass

from artifactctl.recognition.seen import Read

LARGEST_HEADER_BYTES = 100_000_000
"""The limit that the safetensors library itself enforces."""

ELEMENT_BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16,
    "U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I8": 8, "U8": 8,
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class TornHeader(ValueError):
    """The file is no complete safetensors file; the message says in which way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One tensor: its safetensors dtype (`BF16`), its shape, and where its bytes lie in the data part."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def is_floating(self) -> bool:
        """Whether the elements are floating-point numbers (BF16 and the 8-bit floats included)."""
        return self.dtype.startswith(("F", "BF"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetensorsHeader:
    """The tensors by name, the free-form metadata, and how many bytes the file has to have."""

    tensors: dict[str, TensorSpec]
    metadata: dict[str, str]
    file_bytes: int


def read_header(read: Read, relative: bytes, size_bytes: int) -> SafetensorsHeader:
    """Return the header of the file; TornHeader when it is cut off or contradicts the file's size."""
    header = _parse(_header_json(read, relative, size_bytes))
    if header.file_bytes > size_bytes:
        raise TornHeader(f"{header.file_bytes - size_bytes} bytes are missing at its end")
    if header.file_bytes < size_bytes:
        raise TornHeader(f"{size_bytes - header.file_bytes} bytes too many at its end")
    return header


def read_tensors_of_torn(read: Read, relative: bytes, size_bytes: int) -> SafetensorsHeader | None:
    """Return the header of a file whose data is cut off, None when not even the header is whole."""
    try:
        return _parse(_header_json(read, relative, size_bytes))
    except TornHeader:
        return None


def _header_json(read: Read, relative: bytes, size_bytes: int) -> bytes:
    first = read(relative, 0, 4096)
    if len(first) < 8:
        raise TornHeader("it ends within its header")
    length = int.from_bytes(first[:8], "little")
    if length > LARGEST_HEADER_BYTES:
        raise TornHeader("its first bytes are no safetensors header")
    if 8 + length > size_bytes:
        raise TornHeader("it ends within its header")
    raw = first[8 : 8 + length]
    if len(raw) < length:
        raw += read(relative, 8 + len(raw), length - len(raw))
    if len(raw) < length:
        raise TornHeader("it ends within its header")
    return raw


def _parse(raw: bytes) -> SafetensorsHeader:
    try:
        content = json.loads(raw)
        metadata = content.pop("__metadata__", {})
        tensors = {name: _tensor(spec) for name, spec in content.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TornHeader("its header is no safetensors header") from error
    data_bytes = _data_bytes(tensors)
    return SafetensorsHeader(tensors=tensors, metadata=metadata, file_bytes=8 + len(raw) + data_bytes)


def _tensor(spec: dict[str, object]) -> TensorSpec:
    dtype, shape, offsets = spec["dtype"], spec["shape"], spec["data_offsets"]
    if not (isinstance(dtype, str) and isinstance(shape, list) and isinstance(offsets, list)):
        raise TypeError("a tensor needs dtype, shape and data_offsets")
    begin, end = offsets
    numbers = [*shape, begin, end]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise TypeError("shapes and offsets are numbers from zero up")
    return TensorSpec(dtype=dtype, shape=tuple(shape), begin=begin, end=end)


def _data_bytes(tensors: dict[str, TensorSpec]) -> int:
    position = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != position or tensor.end < tensor.begin:
            raise TornHeader(f"the bytes of tensor {name!r} leave a hole or overlap")
        expected = _expected_bytes(tensor)
        if expected is not None and tensor.end - tensor.begin != expected:
            raise TornHeader(f"tensor {name!r} has not the bytes that its shape asks for")
        position = tensor.end
    return position


def _expected_bytes(tensor: TensorSpec) -> int | None:
    bits = ELEMENT_BITS.get(tensor.dtype)
    if bits is None:
        return None
    for length in tensor.shape:
        bits *= length
    return bits // 8
