"""The frozen parts of a target, from a folder of safetensors and from a real GGUF file."""

import json
from pathlib import Path

import pytest
import torch

from artifactctl.domain.errors import UsageError
from tests.train.tiny import HIDDEN, VOCABULARY, target_folder
from train.target import load_target, read_target_config


def change_config(folder: Path, **values: object) -> None:
    content = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**content, **values}))


def test_a_folder_gives_embedding_head_norm_and_shape(tmp_path: Path) -> None:
    target = load_target(target_folder(tmp_path))
    assert target.embedding.shape == target.head.shape == (VOCABULARY, HIDDEN)
    assert not torch.equal(target.embedding, target.head)
    config = target.config
    assert (config.blocks, config.head_size, config.key_value_heads, config.rope_theta) == (8, 4, 2, 500.0)


def test_a_tied_target_has_its_embedding_for_a_head(tmp_path: Path) -> None:
    target = load_target(target_folder(tmp_path, tied=True))
    assert target.head is target.embedding


def test_a_head_that_is_missing_is_an_error_unless_it_is_tied(tmp_path: Path) -> None:
    target_folder(tmp_path, tied=True)
    change_config(tmp_path, tie_word_embeddings=False)
    with pytest.raises(UsageError, match="not tied"):
        load_target(tmp_path)


def test_a_nested_text_configuration_is_the_one_that_counts(tmp_path: Path) -> None:
    target_folder(tmp_path)
    text = json.loads((tmp_path / "config.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "kimi_k25", "text_config": text}))
    assert read_target_config(tmp_path).hidden_size == HIDDEN


@pytest.mark.parametrize(
    "scaled", [{"model_type": "gemma3_text"}, {"logit_scale": 0.0625}, {"final_logit_softcapping": 30.0}]
)
def test_targets_that_scale_what_goes_in_or_out_are_refused(tmp_path: Path, scaled: dict[str, object]) -> None:
    target_folder(tmp_path)
    change_config(tmp_path, **scaled)
    with pytest.raises(UsageError, match="scales"):
        load_target(tmp_path)


def test_weights_of_another_shape_than_the_configuration_are_refused(tmp_path: Path) -> None:
    target_folder(tmp_path)
    change_config(tmp_path, vocab_size=VOCABULARY + 1)
    with pytest.raises(UsageError, match="its configuration says"):
        load_target(tmp_path)


def test_what_is_no_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config\.json"):
        load_target(tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"GGUFnothing")
    with pytest.raises(UsageError, match="no GGUF file"):
        load_target(tmp_path / "x.gguf")


def test_a_real_gguf_file_is_dequantised(gguf: Path) -> None:
    target = load_target(gguf)
    assert target.head is target.embedding
    assert target.embedding.shape == (49_152, 576)
    assert 0.05 < float(target.embedding.std()) < 0.3
    assert (target.config.blocks, target.config.key_value_heads, target.config.rope_theta) == (30, 3, 100_000.0)
