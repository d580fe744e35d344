"""One shard while it is written; see the package for the order of its steps."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import BLOCKS, FORMAT, PLANES, STATES, Codec, ElementType
from artifactctl.domain.errors import UsageError
from extract.shards.aside import AsideFile
from extract.shards.container import PlacedTensor, header_room_bytes, render_header
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.records import StateRecord, token_hash
from extract.shards.sinks import SmallTensor, rows_per_block, sink_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ID_BYTES, _MASK_BYTES = 4, 1
_RECORD_BYTES = 8 + 8 + 32
"""Offset, index and hash."""

_PADDING = "padding"
_ALIGNMENT_BYTES = 8
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """What every shard of a run shares; `fingerprint` goes into each header."""

    form: StatesForm
    fingerprint: RunFingerprint
    codec: Codec = Codec.NONE

    def __post_init__(self) -> None:
        if self.codec is Codec.PLANES and self.form.element is not ElementType.BF16:
            raise UsageError(
                f"the codec planes is for bf16, these states are {self.form.element}", remedy="use --codec none"
            )

    def metadata(self, *, records: int, tokens: int, checksums: dict[str, str]) -> dict[str, str]:
        """Return what stands in a shard's header."""
        return {
            "format": FORMAT,
            "records": str(records),
            "tokens": str(tokens),
            "codec": self.codec.value,
            "rows_per_block": str(rows_per_block(self.form)),
            "states": str(self.form),
            "run": json.dumps(self.fingerprint.as_json(), sort_keys=True),
            "run_digest": self.fingerprint.digest,
            "checksums": json.dumps(checksums, sort_keys=True),
        }

    def header_room_bytes(self) -> int:
        """Return the space that no header of such a shard exceeds."""
        names = (STATES, PLANES, BLOCKS, _PADDING, "input_ids", "record_offsets", "record_index", "loss_mask")
        tensors = [
            PlacedTensor(name=name, dtype="BF16", shape=(_LARGEST, _LARGEST), begin=_LARGEST, end=_LARGEST)
            for name in (*names, "token_hashes")
        ]
        checksums = {name: "0" * 64 for name in (*names, "token_hashes")}
        return header_room_bytes(tensors, self.metadata(records=_LARGEST, tokens=_LARGEST, checksums=checksums))

    def room_bytes(self, shard_bytes: int, first_tokens: int) -> int:
        """Return the room of a shard of about `shard_bytes` that holds at least one record of `first_tokens`."""
        return max(shard_bytes, self.most_bytes(records=1, tokens=first_tokens))

    def most_bytes(self, *, records: int, tokens: int) -> int:
        """Return the room that so many records of so many tokens in all never exceed, whatever the codec does."""
        blocks = 1 + tokens // rows_per_block(self.form)
        coded = tokens * self.form.row_bytes + blocks * (self.form.width + 256)
        labels = tokens * (_ID_BYTES + _MASK_BYTES) + (records + 1) * _RECORD_BYTES
        return self.header_room_bytes() + coded + labels + 8 * _ALIGNMENT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenShard:
    """A shard that is whole and has its name."""

    path: Path
    size_bytes: int
    records: int
    tokens: int


class ShardWriter:
    """Appends records to a new shard until it is finished or abandoned. Its file never exceeds `room_bytes`."""

    def __init__(self, path: Path, plan: ShardPlan, *, room_bytes: int, mark: str = "", replaces: bool = False) -> None:
        self._plan = plan
        self._room_bytes = room_bytes
        self._header_bytes = plan.header_room_bytes()
        self._file = AsideFile(path, room_bytes, mark=mark, replaces=replaces)
        self._sink = sink_for(plan.codec, plan.form, self._file, self._header_bytes)
        self._ids: list[NDArray[Any]] = []
        self._masks: list[NDArray[Any]] = []
        self._offsets = [0]
        self._indexes: list[int] = []
        self._hashes: list[bytes] = []

    @property
    def records(self) -> int:
        """Records so far."""
        return len(self._indexes)

    @property
    def tokens(self) -> int:
        """Tokens so far."""
        return self._offsets[-1]

    def fits(self, record: StateRecord) -> bool:
        """Whether the record can be appended, whatever the codec makes of it."""
        labels = (self.tokens + record.tokens) * (_ID_BYTES + _MASK_BYTES) + (self.records + 2) * _RECORD_BYTES
        states = self._sink.bound_bytes(record.tokens)
        return self._header_bytes + states + labels + 8 * _ALIGNMENT_BYTES <= self._room_bytes

    def append(self, record: StateRecord, key: bytes | None = None) -> None:
        """Write a record that `require_fit` let pass; `key` is its `token_hash` where the caller has it already."""
        if not self.fits(record):
            raise ValueError("the record does not fit into the room of this shard")
        self._sink.append(record.states)
        self._ids.append(record.token_ids.astype("<i4"))
        if record.loss_mask is not None:
            self._masks.append(record.loss_mask.astype("u1"))
        self._offsets.append(self.tokens + record.tokens)
        self._indexes.append(record.index)
        self._hashes.append(key or token_hash(record.token_ids))

    def finish(self) -> WrittenShard:
        """Make the shard whole and give it its name."""
        tensor, digest, index = self._sink.finish()
        tensors, checksums = [tensor], {tensor.name: digest}
        end = tensor.end
        for name, dtype, values in (*_padding(end), *index, *self._labels()):
            content = values.tobytes()
            self._file.write(self._header_bytes + end, (content,))
            tensors.append(PlacedTensor(name=name, dtype=dtype, shape=values.shape, begin=end, end=end + len(content)))
            checksums[name] = hashlib.sha256(content).hexdigest()
            end += len(content)
        metadata = self._plan.metadata(records=self.records, tokens=self.tokens, checksums=checksums)
        self._file.write(0, (render_header(tensors, metadata, self._header_bytes),))
        size_bytes = self._header_bytes + end
        self._file.publish(size_bytes)
        return WrittenShard(path=self._file.place, size_bytes=size_bytes, records=self.records, tokens=self.tokens)

    def abandon(self) -> None:
        """Throw away what was written since the last shard; an empty `.partial` stays."""
        self._file.abandon()

    def _labels(self) -> Sequence[SmallTensor]:
        import numpy as np

        mask = [("loss_mask", "U8", np.concatenate(self._masks))] if self._masks else []
        hashes = np.frombuffer(b"".join(self._hashes), np.uint8).reshape(self.records, 32)
        return (
            ("record_offsets", "I64", np.array(self._offsets, "<i8")),
            ("record_index", "I64", np.array(self._indexes, "<i8")),
            ("input_ids", "I32", np.concatenate(self._ids) if self._ids else np.empty(0, "<i4")),
            *mask,
            ("token_hashes", "U8", hashes),
        )


def _padding(end: int) -> Sequence[SmallTensor]:
    """Return a tensor of zeros after which the next one is aligned for eight-byte elements; none where it is anyway."""
    import numpy as np

    missing = -end % _ALIGNMENT_BYTES
    return ((_PADDING, "U8", np.zeros(missing, "u1")),) if missing else ()
