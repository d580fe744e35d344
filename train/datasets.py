"""Hidden states for training, record by record.

Shape suffixes: L tokens of one record, K captured layers, H hidden size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.data import Dataset

from artifactctl.api.formats import FinalState
from artifactctl.domain.errors import CheckFailed
from extract.shards.dumps import open_dump
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.packing import PackedDump
from extract.shards.reader import open_shard
from extract.shards.records import BrokenRecord, token_hash
from extract.shards.tensors import as_torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is known of each record without its states: its content key, and how many tokens it has."""

    content_keys: tuple[bytes, ...]
    tokens: tuple[int, ...]


class HiddenStatesDataset(Dataset[dict[str, torch.Tensor]]):
    """A complete dump as `torch.utils.data.Dataset`, in the order of its records: packed, of SpecForge or speculators.

    An item has `input_ids` int64 [L], `loss_mask` int64 [L] where the dump has masks, `aux_hidden_state` [L, K H] (the
    captured layers, ascending) and, where the dump has it, `hidden_state` [L, H], the final state, before or after the
    norm as `final_state` says. States have the dump's own element type, and tensors are the item's own to change.
    A record that cannot be read raises (CheckFailed): none is ever skipped, or another put in its place.

    `files` are those of the dump relative to its folder, from the catalog; a packed dump lists its own. Each process
    opens the dump for itself, so a DataLoader may have workers, forked or spawned. Records lie packed in large files: a
    sampler that stays within a shard for a while reads a coded dump with less work.
    """

    def __init__(self, folder: str | Path, files: Sequence[str] = ()) -> None:
        self._folder = Path(folder)
        self._files = tuple(files)
        self._dump = open_dump(self._folder, self._files)
        self.form: StatesForm = self._dump.form
        self.layers = self.form.layers
        self.hidden_size = self.form.hidden_size
        self.final_state: FinalState = self.form.final_state
        self.fingerprint: RunFingerprint | None = self._dump.fingerprint

    def __len__(self) -> int:
        return len(self._dump)

    def __getitem__(self, position: int) -> dict[str, torch.Tensor]:
        try:
            record = self._dump[position]
        except BrokenRecord as broken:
            raise CheckFailed(
                f"{self._folder}: record {broken.index}: {broken.reason}", remedy="artifactctl verify --level headers"
            ) from broken
        item: dict[str, torch.Tensor] = as_torch(record, self.form.element)
        states_LW = item.pop("hidden_states")
        captured_width = self.form.captured * self.hidden_size
        item["aux_hidden_state"] = states_LW[:, :captured_width]
        if self.final_state is not FinalState.NONE:
            item["hidden_state"] = states_LW[:, captured_width:]
        return item

    def __reduce__(self) -> tuple[type["HiddenStatesDataset"], tuple[Path, tuple[str, ...]]]:
        return type(self), (self._folder, self._files)  # an open file does not go to another process

    def outline(self) -> Outline:
        """Return keys and lengths. Shards list them; of other dumps every record is read once for its ids."""
        keys: list[bytes] = []
        lengths: list[int] = []
        if isinstance(self._dump, PackedDump):
            for listed in self._dump.manifest.shards:
                with open_shard(self._folder / listed.name) as shard:
                    keys += shard.token_hashes()
                    lengths += shard.lengths()
        else:
            for position in range(len(self)):
                token_ids = self[position]["input_ids"].numpy()
                keys.append(token_hash(token_ids))
                lengths.append(len(token_ids))
        return Outline(content_keys=tuple(keys), tokens=tuple(lengths))
