"""Writes one flat tensor as `torch.save` does, without torch: a zip with a short pickle and the raw elements.

The pickle calls `torch._utils._rebuild_tensor_v2` on a storage that it names by a persistent id, which is what torch
writes and what `torch.load(weights_only=True)` accepts.
"""

import pickle
import zipfile
from enum import Enum
from pathlib import Path


class Storage(Enum):
    """A storage class of torch, with the bytes of one element."""

    BOOL = ("BoolStorage", 1)
    INT64 = ("LongStorage", 8)


def write_tensor(path: Path, storage: Storage, elements: bytes) -> None:
    """Write a one-dimensional tensor; `elements` are its values, little-endian."""
    name, width = storage.value
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", _pickled_description(name, len(elements) // width))
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", elements)
        archive.writestr("archive/version", "3\n")


def _pickled_description(storage: str, length: int) -> bytes:
    count = pickle.BININT + length.to_bytes(4, "little")
    zero, one = (pickle.BININT + number.to_bytes(4, "little") for number in (0, 1))
    persistent_id = _tuple(_text("storage"), _global("torch", storage), _text("0"), _text("cpu"), count)
    no_hooks = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
    arguments = _tuple(persistent_id + pickle.BINPERSID, zero, _tuple(count), _tuple(one), pickle.NEWFALSE, no_hooks)
    rebuild = _global("torch._utils", "_rebuild_tensor_v2")
    return pickle.PROTO + b"\x02" + rebuild + arguments + pickle.REDUCE + pickle.STOP


def _tuple(*items: bytes) -> bytes:
    return pickle.MARK + b"".join(items) + pickle.TUPLE


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _text(text: str) -> bytes:
    return pickle.BINUNICODE + len(text).to_bytes(4, "little") + text.encode()
