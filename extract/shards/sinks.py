"""How the rows of a shard's states become bytes on disk: as they are, or coded in blocks.

Shape suffixes: N rows, W elements of a row.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from artifactctl.api.formats import BLOCKS, PLANES, STATES, Codec, PlanesEncoder, largest_block_bytes
from extract.shards.aside import AsideFile
from extract.shards.container import PlacedTensor
from extract.shards.form import BITS, STORED_AS, StatesForm

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from numpy.typing import NDArray

BLOCK_BYTES = 4 * 2**20
"""Raw bytes of a block, about: what has to be decoded at least to read one row."""

SmallTensor = tuple[str, str, "NDArray[Any]"]
"""Name, dtype in safetensors, values."""


def rows_per_block(form: StatesForm) -> int:
    """Return how many rows are coded together."""
    return max(1, BLOCK_BYTES // form.row_bytes)


class StatesSink(Protocol):
    """Takes the rows of a shard; `begin` is where its bytes lie in the file."""

    def append(self, states_NW: "NDArray[Any]") -> None:
        """Take some rows."""
        ...

    def bound_bytes(self, rows: int) -> int:
        """Return what the states would take at most with so many rows more."""
        ...

    def finish(self) -> "tuple[PlacedTensor, str, tuple[SmallTensor, ...]]":
        """Write what is pending; return the tensor, its SHA-256 and the tensors that say where in it things are."""
        ...


class _Written:
    """The bytes of the states so far, and their digest."""

    def __init__(self, file: AsideFile, begin: int) -> None:
        self._file = file
        self._begin = begin
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def add(self, parts: "Sequence[ReadableBuffer]") -> None:
        end = self._file.write(self._begin + self.size_bytes, parts)
        for part in parts:
            self._digest.update(part)
        self.size_bytes = end - self._begin

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class PlainSink:
    """One tensor `hidden_states` [rows, width]."""

    def __init__(self, form: StatesForm, file: AsideFile, begin: int) -> None:
        self._form = form
        self._written = _Written(file, begin)
        self._rows = 0

    def append(self, states_NW: "NDArray[Any]") -> None:
        import numpy as np

        self._written.add((np.ascontiguousarray(states_NW).data,))
        self._rows += len(states_NW)

    def bound_bytes(self, rows: int) -> int:
        return (self._rows + rows) * self._form.row_bytes

    def finish(self) -> tuple[PlacedTensor, str, tuple[SmallTensor, ...]]:
        tensor = PlacedTensor(
            name=STATES,
            dtype=STORED_AS[self._form.element],
            shape=(self._rows, self._form.width),
            begin=0,
            end=self._written.size_bytes,
        )
        return tensor, self._written.hexdigest(), ()


class PlanesSink:
    """One tensor of bytes `hidden_states.planes`, coded blocks of the same number of rows (the last has the rest)."""

    def __init__(self, form: StatesForm, file: AsideFile, begin: int) -> None:
        import numpy as np

        self._form = form
        self._written = _Written(file, begin)
        self._encoder = PlanesEncoder(form.width)
        self._rows_per_block = rows_per_block(form)
        self._pending = np.empty((self._rows_per_block, form.width), BITS[form.element])
        self._pending_rows = 0
        self._starts = [0]

    def append(self, states_NW: "NDArray[Any]") -> None:
        import numpy as np

        states_NW = np.ascontiguousarray(states_NW)
        at = 0
        while at < len(states_NW):
            whole = self._rows_per_block
            if not self._pending_rows and len(states_NW) - at >= whole:
                self._code(states_NW[at : at + whole])
                at += whole
                continue
            taken = min(whole - self._pending_rows, len(states_NW) - at)
            self._pending[self._pending_rows : self._pending_rows + taken] = states_NW[at : at + taken]
            self._pending_rows += taken
            at += taken
            if self._pending_rows == whole:
                self._code_pending()

    def bound_bytes(self, rows: int) -> int:
        uncoded = self._pending_rows + rows
        blocks = -(-uncoded // self._rows_per_block)
        overhead = largest_block_bytes(0, self._form.width) + 8
        return self._written.size_bytes + uncoded * self._form.row_bytes + blocks * overhead + 8 * len(self._starts)

    def finish(self) -> tuple[PlacedTensor, str, tuple[SmallTensor, ...]]:
        import numpy as np

        if self._pending_rows:
            self._code_pending()
        size = self._written.size_bytes
        tensor = PlacedTensor(name=PLANES, dtype="U8", shape=(size,), begin=0, end=size)
        return tensor, self._written.hexdigest(), ((BLOCKS, "I64", np.array(self._starts, "<i8")),)

    def _code_pending(self) -> None:
        self._code(self._pending[: self._pending_rows])
        self._pending_rows = 0

    def _code(self, states_NW: "NDArray[Any]") -> None:
        self._written.add(self._encoder.encode_parts(states_NW.reshape(-1).data))
        self._starts.append(self._written.size_bytes)


def sink_for(codec: Codec, form: StatesForm, file: AsideFile, begin: int) -> StatesSink:
    """Return the sink of a codec."""
    return (PlanesSink if codec is Codec.PLANES else PlainSink)(form, file, begin)
