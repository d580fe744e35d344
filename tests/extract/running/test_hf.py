"""The engine `hf` on a tiny random Llama: its states are transformers' own `hidden_states`, at the same index."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from artifactctl.api.formats import ElementType, FinalState
from artifactctl.domain.errors import UsageError
from extract.running.engine import Computed, CorpusRecord, EngineRequest
from extract.running.hf import open_engine
from extract.shards.records import token_hash
from extract.shards.tensors import states_as_torch

BLOCKS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("llama")
    torch.manual_seed(7)
    configuration = LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=BLOCKS,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    LlamaForCausalLM(configuration).save_pretrained(made)
    return made


def record(index: int, tokens: int) -> CorpusRecord:
    ids = np.random.default_rng(index).integers(0, 300, tokens, dtype=np.int64)
    return CorpusRecord(index=index, content_key=token_hash(ids), token_ids=ids)


RECORDS = [record(index, tokens) for index, tokens in enumerate((7, 40, 3, 1, 25, 64))]


def computed(folder: Path, **wanted: Any) -> list[Computed]:
    engine = open_engine(EngineRequest(model=folder, device="cpu", **wanted))
    outcomes = list(engine.compute(iter(RECORDS)))
    engine.close()
    assert all(isinstance(each, Computed) for each in outcomes)
    return outcomes  # type: ignore[return-value]


def expected(folder: Path) -> Iterator[tuple[Sequence[Any], Any, Any]]:
    """Yield hidden_states, the state before the norm, and the state after it, of each record."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    for each in RECORDS:
        before: list[Any] = []
        hook = model.model.norm.register_forward_pre_hook(lambda _module, given, kept=before: kept.append(given[0]))
        with torch.inference_mode():
            found = model.model(torch.from_numpy(each.token_ids)[None], output_hidden_states=True, use_cache=False)
        hook.remove()
        yield [state[0] for state in found.hidden_states], before[0][0], found.last_hidden_state[0]


def bits(tensor: Any) -> Any:
    return tensor.to(torch.bfloat16).view(torch.int16).numpy().view("<u2")


def test_each_boundary_is_the_hidden_state_of_that_index_and_the_final_one_is_on_the_side_of_the_norm_asked_for(
    folder: Path,
) -> None:
    pre = computed(folder, layers=(0, 2, 4, 7), final_state=FinalState.PRE)
    post = computed(folder, layers=(2, BLOCKS), final_state=FinalState.POST)

    for before, after, (hidden, unnormed, normed) in zip(pre, post, expected(folder), strict=True):
        for state, boundary in zip(before.layers, (0, 2, 4, 7), strict=True):
            assert (state == bits(hidden[boundary])).all()
        assert before.final is not None
        assert after.final is not None
        assert (before.final == bits(unnormed)).all()
        assert (after.layers[1] == bits(unnormed)).all()  # boundary n is before the norm
        assert (after.final == bits(normed)).all()
        assert not (after.final == before.final).all()


def test_records_of_one_batch_do_not_see_each_other_nor_the_padding(folder: Path) -> None:
    alone = computed(folder, layers=(2, 4, 7), final_state=FinalState.POST, batch_tokens=1)
    together = computed(folder, layers=(2, 4, 7), final_state=FinalState.POST, batch_tokens=200)

    for one, other, given in zip(alone, together, RECORDS, strict=True):
        assert one.index == other.index == given.index
        assert one.token_hash == other.token_hash == given.content_key
        for mine, theirs in zip((*one.layers, one.final), (*other.layers, other.final), strict=True):
            assert mine.shape == theirs.shape == (given.tokens, 32)
            difference = states_as_torch(mine.copy(), ElementType.BF16) - states_as_torch(
                theirs.copy(), ElementType.BF16
            )
            assert float(difference.float().abs().max()) < 0.02  # one step of bf16 at most


def test_an_engine_says_what_it_computes_with(folder: Path, tmp_path: Path) -> None:
    engine = open_engine(EngineRequest(model=folder, layers=None, final_state=FinalState.NONE))

    assert engine.facts.layers == (2, 4, 5)
    assert (engine.facts.hidden_size, engine.facts.blocks, engine.facts.vocabulary) == (32, BLOCKS, 300)
    assert engine.facts.computed_in == "float32"
    assert set(engine.facts.versions) == {"torch", "transformers"}
    before = engine.facts.model_revision
    shutil.copytree(folder, tmp_path / "other")
    weights = tmp_path / "other" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert open_engine(EngineRequest(model=tmp_path / "other")).facts.model_revision != before


@pytest.mark.parametrize("layers", [(9,), (4, 2), (2, 2)], ids=["beyond", "descending", "twice"])
def test_layers_that_make_no_sense_are_refused(folder: Path, layers: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        open_engine(EngineRequest(model=folder, layers=layers))


def test_what_is_no_model_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no config\.json"):
        open_engine(EngineRequest(model=tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "never-heard-of"}')
    with pytest.raises(UsageError, match="transformers cannot load"):
        open_engine(EngineRequest(model=tmp_path))
