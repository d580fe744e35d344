"""A safetensors file that stays open, and is read where it is asked."""

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import SafetensorsHeader, TornHeader, read_header
from artifactctl.domain.errors import CheckFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TYPES = {"I64": "<i8", "I32": "<i4", "BOOL": "u1", "U8": "u1"}


class TensorFile:
    """A context manager. `broken` makes the error out of what is wrong with the file."""

    def __init__(self, path: Path, *, broken: Callable[[str], CheckFailed]) -> None:
        self._broken = broken
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.header = self._read_header()
        except BaseException:
            self.close()
            raise
        self._data_begin = self.header.file_bytes - max((each.end for each in self.header.tensors.values()), default=0)

    def __enter__(self) -> "TensorFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def elements(self, name: str, begin: int = 0, end: int | None = None) -> "NDArray[Any]":
        """Return elements of a tensor of integers or truths, flat; all from `begin` on where no `end` is given."""
        import numpy as np

        tensor = self.header.tensors[name]
        kind = np.dtype(_TYPES[tensor.dtype])
        last = tensor.end if end is None else tensor.begin + end * kind.itemsize
        first = tensor.begin + begin * kind.itemsize
        return np.frombuffer(self.read(first, last - first), kind)

    def read(self, begin: int, length: int) -> bytearray:
        """Return bytes of the data part."""
        content = bytearray(length)
        self.read_into(memoryview(content), begin)
        return content

    def read_into(self, target: memoryview, begin: int) -> None:
        """Fill `target` with the bytes of the data part from `begin` on."""
        offset = self._data_begin + begin
        while target:
            count = os.preadv(self._descriptor, [target], offset)
            if count == 0:
                raise self._broken("was cut off while it was read")
            target, offset = target[count:], offset + count

    def _read_header(self) -> SafetensorsHeader:
        def read(_relative: bytes, offset: int, length: int) -> bytes:
            return os.pread(self._descriptor, length, offset)

        try:
            return read_header(read, b"", os.fstat(self._descriptor).st_size)
        except TornHeader as torn:
            raise self._broken(f"is torn: {torn}") from torn
