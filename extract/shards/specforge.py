"""SpecForge's offline features: one torch file a record, below `rows_A-B`.

Each is a dict of `input_ids` int64 [L], `loss_mask` int64 [L], `hidden_state` [1, L, H] (after the final norm) and
`aux_hidden_state` [1, L, K H] (K captured layers). The files are somebody else's pickles: torch reads them with
`weights_only=True`, which runs nothing of them, and what is not exactly such a dict is a broken record.

Shape suffixes: L tokens, W elements of a row of states.
"""

import gzip
import io
import pickle
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artifactctl.api.formats import FinalState
from artifactctl.domain.errors import CheckFailed, Refused
from extract.requirements import need
from extract.shards.aside import AsideFile
from extract.shards.dumps import BrokenRecord
from extract.shards.form import StatesForm
from extract.shards.records import StateRecord, require_fit
from extract.shards.tensors import element_of, states_as_bits, states_as_torch

GROUP = 2000
"""Records in one `rows_A-B` folder, as SpecForge groups them."""

KEYS = frozenset({"input_ids", "loss_mask", "hidden_state", "aux_hidden_state"})
MOST_UNPACKED = 64
"""States hardly shrink: a gzipped file that holds more than so many times its own size is no sample, but a bomb."""

_CHUNK_BYTES = 16 * 2**20

_DAMAGE = (
    RuntimeError,
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    zlib.error,
    OSError,
    UserWarning,
)


class SpecForgeDump:
    """Records in the order of their numbers, each loaded when it is asked for."""

    fingerprint = None

    def __init__(self, folder: Path, samples: Sequence[tuple[int, str]]) -> None:
        self._folder = folder
        self._samples = samples
        self.form = self._first_form()

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, position: int) -> StateRecord:
        number, file = self._samples[position]
        content = _load(self._folder / file, number)
        if _form_of(content) != self.form:
            raise BrokenRecord(number, "its states are not of the same form as those of the first record")
        mask = content["loss_mask"]
        if int(mask.min()) < 0 or int(mask.max()) > 1:
            raise BrokenRecord(number, "its loss mask holds other values than 0 and 1")
        return StateRecord(
            index=number,
            token_ids=content["input_ids"].numpy().copy(),
            loss_mask=mask.numpy().astype("u1"),
            states=self._states(content),
        )

    def close(self) -> None:
        """Nothing stays open."""

    def _states(self, content: dict[str, Any]) -> Any:
        torch = need("torch", purpose="reading SpecForge's dumps")
        states_LW = torch.cat((content["aux_hidden_state"][0], content["hidden_state"][0]), dim=-1)
        return states_as_bits(states_LW, self.form.element)

    def _first_form(self) -> StatesForm:
        for number, file in self._samples:
            try:
                return _form_of(_load(self._folder / file, number))
            except BrokenRecord:
                continue
        raise CheckFailed(
            f"none of the {len(self._samples)} samples in {self._folder} can be read",
            remedy="`artifactctl verify --level headers` says what is wrong with each",
        )


class SpecForgeWriter:
    """Writes one file a record. A file that is there already has to hold the same record."""

    def __init__(self, folder: Path, form: StatesForm) -> None:
        self.require_form(form)
        self._folder = folder
        self._form = form

    @staticmethod
    def require_form(form: StatesForm) -> None:
        """Return when the layout holds such states without loss; Refused otherwise."""
        if form.final_state is not FinalState.POST or not form.has_loss_mask or not form.captured:
            raise Refused(
                f"SpecForge's layout holds captured layers, the state after the final norm and a loss mask, not {form}",
                remedy="extract with --final-state post, or convert to packed",
            )

    def append(self, record: StateRecord) -> None:
        """Write a record; RejectedRecord when it is not fit."""
        require_fit(record, self._form)
        begin = record.index // GROUP * GROUP
        rows = self._folder / f"rows_{begin}-{begin + GROUP}"
        place = rows / f"data_{record.index}.ckpt"
        if place.exists():
            self._require_same(place, record)
            return
        rows.mkdir(exist_ok=True)
        content = self._saved(record)
        file = AsideFile(place, len(content))
        file.write(0, (content,))
        file.publish(len(content))

    def reject(self, index: int, reason: str) -> None:
        """A missing record is a missing file here."""

    def complete(self) -> None:
        """Nothing comes last."""

    def abandon(self) -> None:
        """Nothing is half written between two records."""

    def _saved(self, record: StateRecord) -> memoryview:
        torch = need("torch", purpose="writing SpecForge's layout")
        split = self._form.captured * self._form.hidden_size
        states_LW = states_as_torch(record.states, self._form.element)
        assert record.loss_mask is not None
        buffer = io.BytesIO()
        torch.save(
            {
                "input_ids": torch.from_numpy(record.token_ids),
                "loss_mask": torch.from_numpy(record.loss_mask.astype("<i8")),
                "hidden_state": states_LW[:, split:].clone()[None],
                "aux_hidden_state": states_LW[:, :split].clone()[None],
            },
            buffer,
        )
        return buffer.getbuffer()

    def _require_same(self, place: Path, record: StateRecord) -> None:
        try:
            same = SpecForgeDump(place.parent, ((record.index, place.name),))[0].is_same_as(record)
        except (BrokenRecord, CheckFailed):
            same = False
        if not same:
            raise Refused(f"{place} is there and holds another record", remedy="give another --out")


def _load(path: Path, number: int) -> dict[str, Any]:
    """Return a sample that has the keys, types and shapes of one; BrokenRecord with what is wrong otherwise."""
    torch = need("torch", purpose="reading SpecForge's dumps")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # torch only warns of a pickle that it did not write
            content = _read(path, number, torch)
    except BrokenRecord:
        raise
    except _DAMAGE as error:
        raise BrokenRecord(number, f"it cannot be read: {str(error).partition(chr(10))[0]}") from error
    problem = _problem(content, torch)
    if problem:
        raise BrokenRecord(number, problem)
    assert isinstance(content, dict)
    return content


def _read(path: Path, number: int, torch: Any) -> Any:
    if path.name.endswith(".gz"):
        return torch.load(_unpacked(path, number), map_location="cpu", weights_only=True)
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)


def _unpacked(path: Path, number: int) -> io.BytesIO:
    most_bytes = MOST_UNPACKED * path.stat().st_size + _CHUNK_BYTES
    unpacked = io.BytesIO()
    with gzip.open(path) as packed:
        while chunk := packed.read(_CHUNK_BYTES):
            unpacked.write(chunk)
            if unpacked.tell() > most_bytes:
                raise BrokenRecord(number, "it unpacks to more than any sample does")
    unpacked.seek(0)
    return unpacked


def _problem(content: Any, torch: Any) -> str:
    if not isinstance(content, dict) or set(content) != KEYS:
        found = ", ".join(sorted(map(str, content))) if isinstance(content, dict) else type(content).__name__
        return f"it is no EAGLE-3 sample of SpecForge, which has {', '.join(sorted(KEYS))}; it has {found}"
    if not all(isinstance(tensor, torch.Tensor) for tensor in content.values()):
        return "it holds something that is no tensor"
    ids, mask, final, aux = (content[key] for key in ("input_ids", "loss_mask", "hidden_state", "aux_hidden_state"))
    if (
        ids.dtype != torch.int64
        or mask.dtype != torch.int64
        or ids.ndim != 1
        or ids.shape != mask.shape
        or not len(ids)
    ):
        return (
            f"its ids {ids.dtype} {tuple(ids.shape)} and mask {mask.dtype} {tuple(mask.shape)} are not int64 [L] both"
        )
    if final.ndim != 3 or aux.ndim != 3 or final.shape[:2] != (1, len(ids)) or aux.shape[:2] != (1, len(ids)):
        return f"its states {tuple(final.shape)} and {tuple(aux.shape)} are not those of {len(ids)} tokens"
    if final.dtype != aux.dtype or element_of(final.dtype) is None:
        return f"its states are {final.dtype} and {aux.dtype}"
    if not final.shape[2] or not aux.shape[2] or aux.shape[2] % final.shape[2]:
        return f"{aux.shape[2]} captured channels are no multiple of {final.shape[2]}"
    return ""


def _form_of(content: dict[str, Any]) -> StatesForm:
    final, aux = content["hidden_state"], content["aux_hidden_state"]
    element = element_of(final.dtype)
    assert element is not None
    return StatesForm(
        hidden_size=final.shape[2],
        captured=aux.shape[2] // final.shape[2],
        final_state=FinalState.POST,
        element=element,
    )
