"""Reading one shard by record.

Shape suffixes: L tokens of one record, N rows of a block, W elements of a row.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import (
    BLOCKS,
    FORMAT,
    PLANES,
    STATES,
    BrokenBlock,
    Codec,
    PlanesDecoder,
)
from artifactctl.domain.errors import CheckFailed
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import BITS, StatesForm
from extract.shards.records import StateRecord
from extract.shards.tensor_file import TensorFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK_BYTES = 4 * 2**20


class BrokenShard(CheckFailed):
    """The file is no whole packed shard."""


def open_shard(path: str | os.PathLike[str]) -> "Shard":
    """Return the packed shard at `path`; BrokenShard when it is torn, or something else."""
    return Shard(Path(path))


class Shard:
    """A sequence of records, read from disk as they are asked for; a context manager. Not to be shared by threads.

    The last block that was decoded is kept, so that reading records one after the other decodes each block once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TensorFile(path, broken=self._broken)
        self._header = self._file.header
        try:
            self._require_packed()
            self._read_metadata()
        except BaseException:
            self.close()
            raise
        self._decoder: PlanesDecoder | None = None
        self._decoded: tuple[int, NDArray[Any]] | None = None

    def __enter__(self) -> "Shard":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._indexes)

    def __iter__(self) -> Iterator[StateRecord]:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, position: int) -> StateRecord:
        if not -len(self) <= position < len(self):
            raise IndexError(f"{self.path.name} holds {len(self)} records, there is no record {position}")
        position %= len(self)
        begin, end = int(self._offsets[position]), int(self._offsets[position + 1])
        mask = self._file.elements("loss_mask", begin, end) if self.form.has_loss_mask else None
        return StateRecord(
            index=int(self._indexes[position]),
            token_ids=self._file.elements("input_ids", begin, end).astype("<i8"),
            loss_mask=mask,
            states=self._states(begin, end),
        )

    @property
    def tokens(self) -> int:
        """Tokens of all records."""
        return int(self._offsets[-1])

    def lengths(self) -> tuple[int, ...]:
        """Return the tokens of each record, without reading any."""
        return tuple((self._offsets[1:] - self._offsets[:-1]).tolist())

    def indexes(self) -> tuple[int, ...]:
        """Return the number of each record, without reading any."""
        return tuple(self._indexes.tolist())

    def token_hashes(self) -> tuple[bytes, ...]:
        """Return the content key of each record."""
        return tuple(bytes(row) for row in self._file.elements("token_hashes").reshape(-1, 32))

    def problems(self) -> Iterator[str]:
        """Read every byte; yield each tensor whose bytes are not those that were written."""
        stored: dict[str, str] = json.loads(self._header.metadata["checksums"])
        for name, tensor in self._header.tensors.items():
            digest = hashlib.sha256()
            for at in range(tensor.begin, tensor.end, _CHUNK_BYTES):
                digest.update(self._file.read(at, min(_CHUNK_BYTES, tensor.end - at)))
            if digest.hexdigest() != stored.get(name):
                yield f"{self.path.name}: the bytes of {name} are not those that were written"

    def _require_packed(self) -> None:
        if self._header.metadata.get("format") != FORMAT:
            raise BrokenShard(
                f"{self.path} is no packed shard", remedy="`artifactctl extract convert` makes some of it"
            )

    def _read_metadata(self) -> None:
        metadata = self._header.metadata
        try:
            self.form = StatesForm.of_json(json.loads(metadata["states"]))
            self.fingerprint = RunFingerprint.of_json(json.loads(metadata["run"]))
            self.codec = Codec(metadata["codec"])
            self._rows_per_block = int(metadata["rows_per_block"])
            self._offsets = self._file.elements("record_offsets")
            self._indexes = self._file.elements("record_index")
            self._starts = self._file.elements(BLOCKS) if self.codec is Codec.PLANES else self._offsets[:0]
            self._require_consistent()
        except (KeyError, ValueError, TypeError) as error:
            raise BrokenShard(f"{self.path} contradicts itself: {error}", remedy="extract its records again") from error

    def _require_consistent(self) -> None:
        offsets, tensors = self._offsets, self._header.tensors
        if len(offsets) != len(self._indexes) + 1 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise ValueError("its records do not follow each other")
        if self._rows_per_block < 1:
            raise ValueError("its blocks have no rows")
        shapes = {"input_ids": (self.tokens,), "token_hashes": (len(self), 32)}
        shapes |= {"loss_mask": (self.tokens,)} if self.form.has_loss_mask else {}
        for name, shape in shapes.items():
            if tensors[name].shape != shape:
                raise ValueError(f"{name} is {tensors[name].shape}, not {shape}")
        if self.codec is Codec.NONE and tensors[STATES].shape != (self.tokens, self.form.width):
            raise ValueError(f"its states are {tensors[STATES].shape}")
        if self.codec is Codec.PLANES:
            blocks = -(-self.tokens // self._rows_per_block)
            in_order = (self._starts[1:] > self._starts[:-1]).all() and self._starts[0] == 0
            if len(self._starts) != blocks + 1 or not in_order or self._starts[-1] != tensors[PLANES].end:
                raise ValueError("its blocks do not follow each other")

    def _states(self, begin: int, end: int) -> "NDArray[Any]":
        import numpy as np

        form = self.form
        states_LW = np.empty((end - begin, form.width), BITS[form.element])
        if self.codec is Codec.NONE:
            at = self._header.tensors[STATES].begin + begin * form.row_bytes
            self._file.read_into(states_LW.reshape(-1).view("u1").data, at)
            return states_LW
        per_block = self._rows_per_block
        for block in range(begin // per_block, -(-end // per_block)):
            block_begin, block_end = block * per_block, min(self.tokens, (block + 1) * per_block)
            first, last = max(begin, block_begin), min(end, block_end)
            target = states_LW[first - begin : last - begin]
            if (first, last) == (block_begin, block_end):
                self._decode(block, target)
            else:
                target[:] = self._block(block)[first - block_begin : last - block_begin]
        return states_LW

    def _block(self, block: int) -> "NDArray[Any]":
        """Return the rows of a block, and keep them: the next record probably begins in it."""
        import numpy as np

        if self._decoded is None or self._decoded[0] != block:
            rows = min(self._rows_per_block, self.tokens - block * self._rows_per_block)
            raw = np.empty((rows, self.form.width), BITS[self.form.element])
            self._decode(block, raw)
            self._decoded = (block, raw)
        return self._decoded[1]

    def _decode(self, block: int, rows_NW: "NDArray[Any]") -> None:
        begin, end = int(self._starts[block]), int(self._starts[block + 1])
        coded = self._file.read(self._header.tensors[PLANES].begin + begin, end - begin)
        self._decoder = self._decoder or PlanesDecoder()
        try:
            self._decoder.decode_into(coded, rows_NW.reshape(-1).view("u1").data)
        except BrokenBlock as broken:
            raise BrokenShard(
                f"{self.path}: block {block} is damaged: {broken}", remedy="extract its records again"
            ) from broken

    def _broken(self, what: str) -> BrokenShard:
        return BrokenShard(f"{self.path} {what}", remedy="`artifactctl verify` finds every torn shard of a set")
