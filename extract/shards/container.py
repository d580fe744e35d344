"""Safetensors files whose header is written last, into space kept for it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ALIGNMENT_BYTES = 4096
_LENGTH_BYTES = 8
_SPARE_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTensor:
    """A tensor and where its bytes lie, from the first byte after the header on."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def header_room_bytes(tensors: Sequence[PlacedTensor], metadata: Mapping[str, str]) -> int:
    """Return the space to keep for a header no longer than that of these; whole pages, so that the data is aligned."""
    length = _LENGTH_BYTES + len(_as_json(tensors, metadata)) + _SPARE_BYTES
    return -(-length // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def render_header(tensors: Sequence[PlacedTensor], metadata: Mapping[str, str], room_bytes: int | None = None) -> bytes:
    """Return the header, filled up with spaces to `room_bytes` (to a multiple of 8 where none is given)."""
    content = _as_json(tensors, metadata)
    room = room_bytes or -(-(_LENGTH_BYTES + len(content)) // 8) * 8
    if _LENGTH_BYTES + len(content) > room:
        raise ValueError(f"a header of {len(content)} bytes does not fit into {room}")
    content = content.ljust(room - _LENGTH_BYTES)
    return len(content).to_bytes(_LENGTH_BYTES, "little") + content


def _as_json(tensors: Sequence[PlacedTensor], metadata: Mapping[str, str]) -> bytes:
    places = {
        each.name: {"dtype": each.dtype, "shape": list(each.shape), "data_offsets": [each.begin, each.end]}
        for each in tensors
    }
    return json.dumps({"__metadata__": dict(metadata)} | places, separators=(",", ":")).encode()
