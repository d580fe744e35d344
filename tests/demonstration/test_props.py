"""The story's files are what they claim to be, for the libraries that own their formats."""

import json

import pytest
import torch
from safetensors import safe_open

from artifactctl.demonstration import props
from artifactctl.demonstration.scale import A_HUNDRED_THOUSANDTH, AS_IT_HAPPENED, SHARDS


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    folder = tmp_path_factory.mktemp("volume")
    props.lay_out(folder, A_HUNDRED_THOUSANDTH)
    return folder


def test_a_shard_is_a_safetensors_file_of_three_layers(volume):
    with safe_open(volume / props.HIDDEN_STATES / props.shard_name(117), framework="pt") as shard:
        shapes = {name: (shard.get_tensor(name).shape, shard.get_tensor(name).dtype) for name in shard.keys()}  # noqa: SIM118 - no mapping

    assert shapes == {f"layer_{layer}": ((1, 7168), torch.bfloat16) for layer in (2, 30, 58)}


def test_torch_reads_the_vocabulary_map_without_unpickling_and_its_halves_agree(volume):
    t2d = torch.load(volume / props.VOCAB_MAP / "t2d.pt", weights_only=True)
    d2t = torch.load(volume / props.VOCAB_MAP / "d2t.pt", weights_only=True)
    counts = torch.load(volume / props.VOCAB_MAP / "token_freq.pt", weights_only=True)

    assert (t2d.dtype, d2t.dtype, counts.dtype) == (torch.bool, torch.int64, torch.int64)
    assert torch.equal(torch.nonzero(t2d).flatten(), d2t + torch.arange(len(d2t)))
    assert (len(t2d), len(d2t)) == (163_840, 32_000)
    assert counts.min() > 0


def test_the_merged_corpus_is_the_ten_response_sets_in_order(volume):
    def ids(path):
        return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]

    merged = ids(volume / props.MERGED_CORPUS)
    sets = sorted((volume / props.RESPONSES).iterdir())

    assert [path.stem for path in sets] == ["A1", "A2", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8"]
    assert merged == [identifier for path in sets for identifier in ids(path)]
    assert len(merged) == A_HUNDRED_THOUSANDTH.records


def test_as_it_happened_the_shards_come_to_23_million_tokens_and_stay_below_924_gib():
    tokens = SHARDS * AS_IT_HAPPENED.tokens_per_shard

    assert round(tokens / 1e6, 2) == 23.07
    assert 923.89 < tokens * 43_008 / 1024**3 < 923.92
