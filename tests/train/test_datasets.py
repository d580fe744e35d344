"""Hidden states as a Dataset: every record, bit for bit, whoever reads it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from artifactctl.api.formats import Codec, FinalState
from extract.shards.form import StatesForm
from extract.shards.reader import BrokenShard
from extract.shards.records import StateRecord
from tests.extract.shards import made
from train.datasets import HiddenStatesDataset

LENGTHS = (5, 1, 30, 17, 64, 2, 9)
CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def require_same(item: dict[str, torch.Tensor], record: StateRecord) -> None:
    both = torch.cat((item["aux_hidden_state"], item["hidden_state"]), dim=-1)
    assert item["input_ids"].tolist() == record.token_ids.tolist()
    assert record.loss_mask is not None
    assert item["loss_mask"].tolist() == record.loss_mask.tolist()
    assert both.dtype == torch.bfloat16
    assert np.array_equal(both.contiguous().view(torch.int16).numpy().view("<u2"), record.states)


@CODECS
def test_each_item_is_its_record_with_the_final_state_apart(tmp_path: Path, codec: Codec) -> None:
    records = made.records(LENGTHS)
    dataset = HiddenStatesDataset(made.packed(tmp_path / "states", records, codec=codec, shard_bytes=4096))

    assert len(dataset) == len(LENGTHS)
    assert (dataset.layers, dataset.hidden_size, dataset.final_state) == ((2, 15, 27), made.HIDDEN, FinalState.POST)
    for position, record in enumerate(records):
        item = dataset[position]
        assert item["aux_hidden_state"].shape == (record.tokens, 3 * made.HIDDEN)
        assert item["hidden_state"].shape == (record.tokens, made.HIDDEN)
        require_same(item, record)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_the_workers_of_a_loader_read_each_record_once(tmp_path: Path, way: str) -> None:
    records = made.records(LENGTHS)
    dataset = HiddenStatesDataset(made.packed(tmp_path / "states", records, codec=Codec.PLANES, shard_bytes=4096))
    dataset[0]

    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=way)
    items = list(loader)

    assert len(items) == len(records)
    for item, record in zip(items, records, strict=True):
        require_same(item, record)


def test_without_final_state_or_mask_an_item_has_neither(tmp_path: Path) -> None:
    form = StatesForm(hidden_size=made.HIDDEN, captured=2, layers=(1, 2), has_loss_mask=False)
    dataset = HiddenStatesDataset(made.packed(tmp_path / "states", made.records(LENGTHS, form), form=form))

    assert set(dataset[0]) == {"input_ids", "aux_hidden_state"}
    assert dataset.final_state is FinalState.NONE


def test_a_torn_shard_raises_instead_of_giving_another_record(tmp_path: Path) -> None:
    folder = made.packed(tmp_path / "states", made.records(LENGTHS), shard_bytes=4096)
    torn = sorted(folder.glob("shard-*"))[-1]
    torn.write_bytes(torn.read_bytes()[:-1])

    dataset = HiddenStatesDataset(folder)

    with pytest.raises(BrokenShard, match="torn"):
        dataset[len(LENGTHS) - 1]
