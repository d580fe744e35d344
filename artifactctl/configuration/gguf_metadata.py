"""The key-value part at the head of a GGUF file: magic, version, counts, then the values (GGUF specification, v2, v3).

Tensors are not read, and no library is needed.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from artifactctl.domain.errors import UsageError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MOST_BYTES = 256 * 1024 * 1024


def read_gguf_metadata(path: Path) -> Mapping[str, Any]:
    """Return the values by key; UsageError when the file is no GGUF or is cut off."""
    with open(path, "rb") as file:
        if file.read(4) != _MAGIC:
            raise UsageError(f"{path} is no GGUF file", remedy="give a GGUF file, or a folder with tokenizer.json")
        try:
            return _values(file)
        except (struct.error, ValueError, KeyError, EOFError, MemoryError) as error:
            raise UsageError(f"the head of {path} is no GGUF metadata: {error}", remedy="fetch it again") from error


def config_of_gguf(path: Path) -> Mapping[str, Any]:
    """Return the width, depth and vocabulary that a GGUF file states, under the names that a config.json has."""
    metadata = read_gguf_metadata(path)
    architecture = metadata.get("general.architecture")
    tokens = metadata.get("tokenizer.ggml.tokens")
    return {
        "hidden_size": metadata.get(f"{architecture}.embedding_length"),
        "num_hidden_layers": metadata.get(f"{architecture}.block_count"),
        "vocab_size": metadata.get(f"{architecture}.vocab_size", len(tokens) if isinstance(tokens, list) else None),
    }


def _values(file: BinaryIO) -> dict[str, Any]:
    version = _scalar(file, "<I")
    if version not in _VERSIONS:
        raise ValueError(f"version {version} is not known")
    _scalar(file, "<Q")  # tensors
    count = _scalar(file, "<Q")
    return {_string(file): _value(file, _scalar(file, "<I")) for _ in range(count)}


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner = _scalar(file, "<I")
        return [_value(file, inner) for _ in range(_scalar(file, "<Q"))]
    return _scalar(file, _SCALARS[kind])


def _string(file: BinaryIO) -> str:
    return _exactly(file, _scalar(file, "<Q")).decode()


def _scalar(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]


def _exactly(file: BinaryIO, length: int) -> bytes:
    if length > _MOST_BYTES:
        raise ValueError(f"a value of {length} bytes")
    content = file.read(length)
    if len(content) != length:
        raise EOFError("it ends too early")
    return content
