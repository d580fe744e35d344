"""Hidden states for training, record by record.

Shape suffixes: L tokens of one record, K captured layers, H hidden size.
"""

from pathlib import Path

import torch
from torch.utils.data import Dataset

from artifactctl.api.formats import FinalState
from extract.shards.packing import PackedDump
from extract.shards.tensors import as_torch


class HiddenStatesDataset(Dataset[dict[str, torch.Tensor]]):
    """A complete packed dump as `torch.utils.data.Dataset`, in the order in which its records were written.

    An item has `input_ids` int64 [L], `loss_mask` int64 [L] where the dump has masks, `aux_hidden_state` [L, K H] (the
    captured layers, ascending) and, where the dump has it, `hidden_state` [L, H], the final state, before or after the
    norm as `final_state` says. States have the dump's own element type, and tensors are the item's own to change.
    A record that cannot be read raises (BrokenShard): none is ever skipped, or another put in its place.

    Each process opens the shards for itself, so a DataLoader may have workers, forked or spawned. Records lie packed in
    large files: a sampler that stays within a shard for a while reads a coded dump with less work.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._dump = PackedDump(self._folder)
        form = self._dump.form
        self._element = form.element
        self._captured_width = form.captured * form.hidden_size
        self.layers = form.layers
        self.hidden_size = form.hidden_size
        self.final_state: FinalState = form.final_state

    def __len__(self) -> int:
        return len(self._dump)

    def __getitem__(self, position: int) -> dict[str, torch.Tensor]:
        item: dict[str, torch.Tensor] = as_torch(self._dump[position], self._element)
        states_LW = item.pop("hidden_states")
        item["aux_hidden_state"] = states_LW[:, : self._captured_width]
        if self.final_state is not FinalState.NONE:
            item["hidden_state"] = states_LW[:, self._captured_width :]
        return item

    def __reduce__(self) -> tuple[type["HiddenStatesDataset"], tuple[Path]]:
        return type(self), (self._folder,)  # an open file does not go to another process
