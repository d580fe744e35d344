"""The packed records of a merged corpus, for stages that write or read them; the same code as `verify` uses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from artifactctl.recognition.packed_records import PACKED_DTYPES, PackedRecord, PackedRecords

__all__ = ["PACKED_DTYPES", "PackedRecord", "PackedRecords", "open_packed"]


@contextmanager
def open_packed(path: bytes | str | os.PathLike[str]) -> Iterator[PackedRecords]:
    """Yield the records of a `packed.safetensors`; TornHeader (a ValueError) when it is cut off."""
    with open(path, "rb", buffering=0) as file:

        def read(_relative: bytes, offset: int, length: int) -> bytes:
            return os.pread(file.fileno(), length, offset)

        yield PackedRecords(read, b"", os.fstat(file.fileno()).st_size)
