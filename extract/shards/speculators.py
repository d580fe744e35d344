"""speculators' dumps: one safetensors file a record, its loss masks in the Arrow dataset beside them.

`hidden_states/hs_N.safetensors` holds `token_ids` int64 [L] and `hidden_states` [L, S, H], the last of S states being
the final one before the norm; N is a row of the dataset (`input_ids`, `loss_mask`, `seq_len`). The dataset that we
write has a column `index` more: the record's number in its corpus. Without a dataset records have no mask.

Shape suffixes: L tokens.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import FinalState, SafetensorsHeader, TornHeader, read_header
from artifactctl.domain.errors import CheckFailed, Refused
from extract.shards.aside import AsideFile
from extract.shards.container import PlacedTensor, render_header
from extract.shards.dumps import BrokenRecord
from extract.shards.form import BITS, STORED_AS, StatesForm
from extract.shards.loss_masks import LossMasks, LossMaskWriter
from extract.shards.records import StateRecord, require_fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "hidden_states"
_ELEMENTS = {name: element for element, name in STORED_AS.items()}


class SpeculatorsDump:
    """Records in the order of their numbers, each read when it is asked for."""

    fingerprint = None

    def __init__(self, folder: Path, samples: Sequence[tuple[int, str]], files: Sequence[str] = ()) -> None:
        self._folder = folder
        self._samples = samples
        datasets = tuple(sorted(file for file in files if file.endswith(".arrow") and "/" not in file))
        self._masks = LossMasks([folder / file for file in datasets]) if datasets else None
        self.form = self._first_form()

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, position: int) -> StateRecord:
        number, file = self._samples[position]
        sample = _Sample(self._folder / file, number)
        form = _form_of(sample.header, number, has_loss_mask=self._masks is not None)
        if form != self.form:
            raise BrokenRecord(number, "its states are not of the same form as those of the first record")
        token_ids = sample.tensor("token_ids", "<i8")
        states = sample.tensor("hidden_states", BITS[form.element]).reshape(len(token_ids), form.width)
        if self._masks is None:
            return StateRecord(index=number, token_ids=token_ids, loss_mask=None, states=states)
        row = self._masks.row(number)
        if row is None or not (len(row.token_ids) == len(token_ids) and (row.token_ids == token_ids).all()):
            raise BrokenRecord(number, f"row {number} of the dataset beside it has other token ids, or is not there")
        return StateRecord(index=row.index, token_ids=token_ids, loss_mask=row.loss_mask, states=states)

    def close(self) -> None:
        """Nothing stays open."""

    def _first_form(self) -> StatesForm:
        for number, file in self._samples:
            try:
                header = _Sample(self._folder / file, number).header
                return _form_of(header, number, has_loss_mask=self._masks is not None)
            except BrokenRecord:
                continue
        raise CheckFailed(
            f"none of the {len(self._samples)} samples in {self._folder} can be read",
            remedy="`artifactctl verify --level headers` says what is wrong with each",
        )


class SpeculatorsWriter:
    """Writes one file a record, numbered as they come, and the dataset with their masks last."""

    def __init__(self, folder: Path, form: StatesForm) -> None:
        self.require_form(form)
        self._form = form
        self._folder = folder / FOLDER
        self._folder.mkdir(exist_ok=True)
        self._masks = LossMaskWriter(folder) if form.has_loss_mask else None
        self._written = 0

    @staticmethod
    def require_form(form: StatesForm) -> None:
        """Return when the layout holds such states without loss; Refused otherwise."""
        if form.final_state is not FinalState.PRE or not form.captured:
            raise Refused(
                f"speculators' layout holds captured layers and the final state before the norm; this is {form}",
                remedy="extract with --final-state pre, or convert to packed",
            )

    def append(self, record: StateRecord) -> None:
        """Write a record; RejectedRecord when it is not fit."""
        require_fit(record, self._form)
        number = record.index if self._masks is None else self._written
        place = self._folder / f"hs_{number}.safetensors"
        parts = self._parts(record)
        if place.exists():
            self._require_same(place, parts)
        else:
            size_bytes = sum(len(part) for part in parts)
            file = AsideFile(place, size_bytes)
            file.write(0, parts)
            file.publish(size_bytes)
        if self._masks is not None:
            self._masks.append(record)
        self._written += 1

    def reject(self, index: int, reason: str) -> None:
        """A missing record is a missing row here."""

    def complete(self) -> None:
        """Write the dataset."""
        if self._masks is not None:
            self._masks.complete()

    def abandon(self) -> None:
        """Give back what is written of the dataset."""
        if self._masks is not None:
            self._masks.abandon()

    def _parts(self, record: StateRecord) -> tuple[bytes, bytes, memoryview]:
        form = self._form
        ids, states = record.token_ids.astype("<i8").tobytes(), record.states.reshape(-1).view("u1").data
        end = len(ids) + len(states)
        shape = (record.tokens, form.states, form.hidden_size)
        tensors = (
            PlacedTensor(name="token_ids", dtype="I64", shape=(record.tokens,), begin=0, end=len(ids)),
            PlacedTensor(name="hidden_states", dtype=STORED_AS[form.element], shape=shape, begin=len(ids), end=end),
        )
        return render_header(tensors, {}), ids, states

    @staticmethod
    def _require_same(place: Path, parts: "Sequence[bytes | memoryview]") -> None:
        if place.read_bytes() != b"".join(parts):
            raise Refused(f"{place} is there and holds another record", remedy="give another --out")


class _Sample:
    """One file: its header, and its tensors when they are asked for."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number
        try:
            self.header = read_header(self._read, os.fsencode(path), path.stat().st_size)
        except TornHeader as torn:
            raise BrokenRecord(number, f"it is torn: {torn}") from torn
        except OSError as error:
            raise BrokenRecord(number, f"it cannot be read: {error.strerror}") from error

    def tensor(self, name: str, kind: str) -> "NDArray[Any]":
        """Return a tensor as a flat array."""
        import numpy as np

        begin = self.header.file_bytes - max(each.end for each in self.header.tensors.values())
        spec = self.header.tensors[name]
        content = bytearray(self._read(b"", begin + spec.begin, spec.end - spec.begin))
        if len(content) != spec.end - spec.begin:
            raise BrokenRecord(self._number, "it was cut off while it was read")
        return np.frombuffer(content, kind)

    def _read(self, _relative: bytes, offset: int, length: int) -> bytes:
        with open(self._path, "rb") as file:
            file.seek(offset)
            return file.read(length)


def _form_of(header: SafetensorsHeader, number: int, *, has_loss_mask: bool) -> StatesForm:
    ids, states = header.tensors.get("token_ids"), header.tensors.get("hidden_states")
    if set(header.tensors) != {"token_ids", "hidden_states"} or ids is None or states is None:
        raise BrokenRecord(number, f"it holds {', '.join(sorted(header.tensors))}, not token_ids and hidden_states")
    if ids.dtype != "I64" or len(ids.shape) != 1 or len(states.shape) != 3 or states.shape[0] != ids.shape[0]:
        raise BrokenRecord(number, f"its ids {ids.dtype} {ids.shape} and states {states.shape} do not fit together")
    if states.dtype not in _ELEMENTS or 0 in states.shape or states.shape[1] < 2:
        raise BrokenRecord(number, f"its states are {states.dtype} {states.shape}")
    return StatesForm(
        hidden_size=states.shape[2],
        captured=states.shape[1] - 1,
        final_state=FinalState.PRE,
        element=_ELEMENTS[states.dtype],
        has_loss_mask=has_loss_mask,
    )
