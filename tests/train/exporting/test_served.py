"""The layout that SGLang serves, against the list of its tensors, and the checker of folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from artifactctl.domain.errors import CheckFailed, Refused, UsageError
from tests.train.tiny import BLOCKS, USED, target_folder, tiny_config, tiny_draft
from train.exporting.checking import check_served
from train.exporting.layer_ids import layer_ids_for, layers_of
from train.exporting.loading import load_served
from train.exporting.served import served_config, served_shapes
from train.target import load_target
from train.weights import served_tensors

LISTED = """fc.weight norm.weight lm_head.weight t2d d2t midlayer.input_layernorm.weight midlayer.hidden_norm.weight
midlayer.post_attention_layernorm.weight midlayer.self_attn.q_proj.weight midlayer.self_attn.k_proj.weight
midlayer.self_attn.v_proj.weight midlayer.self_attn.o_proj.weight midlayer.mlp.gate_proj.weight
midlayer.mlp.up_proj.weight midlayer.mlp.down_proj.weight"""

Change = Callable[[Any], object]


def exported(folder: Path) -> Path:
    """Write a sound export."""
    folder.mkdir()
    save_file(served_tensors(tiny_draft().state_dict()), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(served_config(tiny_config(), layer_ids=(1, 3, 4))))
    return folder


def test_the_tensors_are_those_that_are_listed_with_the_shapes_of_the_model() -> None:
    state = tiny_draft().state_dict()
    assert set(served_shapes(tiny_config())) == set(LISTED.split())
    assert served_shapes(tiny_config()) == {name: tuple(tensor.shape) for name, tensor in state.items()}


def test_transformers_reads_the_configuration_as_it_was_meant() -> None:
    from transformers import LlamaConfig

    config = tiny_config()
    read = LlamaConfig.from_dict(served_config(config, layer_ids=(1, 3, 4)))
    assert (read.rope_parameters["rope_theta"], read.rms_norm_eps) == (config.rope_theta, config.norm_epsilon)
    assert (read.draft_vocab_size, read.vocab_size, read.num_hidden_layers) == (40, 300, 1)
    assert read.eagle_config == {"use_aux_hidden_state": True, "eagle_aux_hidden_state_layer_ids": [1, 3, 4]}


def test_what_is_exported_is_loaded_again_for_its_target(tmp_path: Path) -> None:
    folder, target = exported(tmp_path / "draft"), load_target(target_folder(tmp_path / "target"))
    model = load_served(folder, target)
    assert model.config.layers == (2, 4, 5)
    for name, tensor in served_tensors(tiny_draft().state_dict()).items():
        assert torch.equal(model.state_dict()[name].to(tensor.dtype), tensor)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensors: tensors.pop("midlayer.hidden_norm.weight"), "midlayer.hidden_norm.weight is missing"),
        (lambda tensors: tensors.pop("t2d"), "t2d is missing"),
        (lambda tensors: tensors.update({"midlayer.self_attn.q_proj.bias": torch.zeros(16)}), "q_proj.bias is unknown"),
        (lambda tensors: tensors.update({"fc.weight": torch.zeros(16, 32)}), r"fc.weight has the shape \[16, 32\]"),
        (lambda tensors: tensors.update({"d2t": torch.zeros(40)}), "d2t is F32, not I64"),
        (lambda tensors: tensors["d2t"].add_(1), "t2d and d2t name different tokens"),
        (lambda tensors: tensors["d2t"].neg_(), "ascending tokens"),
    ],
    ids=["missing", "no map", "unknown", "shape", "type", "halves of two maps", "no map at all"],
)
def test_a_tensor_that_a_server_would_take_silently_is_an_error(tmp_path: Path, change: Change, said: str) -> None:
    folder = exported(tmp_path / "draft")
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckFailed, match=said):
        check_served(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config.pop("draft_vocab_size"), "draft_vocab_size is None: the server would take"),
        (lambda config: config.update(architectures=["LlamaForCausalLM"]), "architectures"),
        (lambda config: config.update(norm_output=True), "norm_output"),
        (lambda config: config["eagle_config"].update(norm_before_fc=True), "norm_before_fc"),
        (lambda config: config.update(rope_scaling={"factor": 8.0}), "rope_scaling"),
        (lambda config: config.update(num_aux_hidden_states=1), "leaves fc out"),
        (lambda config: config.update(target_hidden_size=32), "target_hidden_size"),
        (lambda config: config.update(num_hidden_layers=2), "num_hidden_layers"),
        (lambda config: config.update(hidden_act="gelu"), "hidden_act"),
    ],
)
def test_a_configuration_that_means_another_draft_is_an_error(tmp_path: Path, change: Change, said: str) -> None:
    folder = exported(tmp_path / "draft")
    content = json.loads((folder / "config.json").read_text())
    change(content)
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(CheckFailed, match=said):
        check_served(folder)


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    folder = exported(tmp_path / "draft")
    tensors = load_file(folder / "model.safetensors")
    save_file({"fc.weight": tensors["fc.weight"], "fc.bias": torch.zeros(16)}, folder / "model.safetensors")
    with pytest.raises(CheckFailed) as error:
        check_served(folder)
    assert len(error.value.further) == 14


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_is_cut_off_is_an_error(tmp_path: Path, name: str) -> None:
    folder = exported(tmp_path / "draft")
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckFailed, match=name):
        check_served(folder)


def test_an_embedding_may_be_there_and_the_targets_is_used(tmp_path: Path) -> None:
    folder, target = exported(tmp_path / "draft"), load_target(target_folder(tmp_path / "target"))
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "embed_tokens.weight": torch.zeros(300, 16)}, folder / "model.safetensors")
    assert torch.equal(load_served(folder, target).embed_tokens, target.embedding)


@pytest.mark.parametrize(
    ("layers", "blocks", "architecture", "ids"),
    [
        ((2, 4, 5), 8, "LlamaForCausalLM", (1, 3, 4)),
        ((2, 16, 29), 32, "LlamaForCausalLM", (1, 15, 28)),
        ((2, 30, 58), 61, "KimiK25ForConditionalGeneration", (1, 29, 57)),
        ((3, 30, 58), 61, "DeepseekV3ForCausalLM", (3, 30, 58)),
        ((2, 12, 21), 24, "GptOssForCausalLM", (1, 11, 20)),
        ((2, 4, 5), 8, "NobodyKnowsForCausalLM", None),
    ],
    ids=["tiny", "Llama", "Kimi, usual", "DeepSeek, others", "gpt-oss", "unknown family, usual"],
)
def test_layers_are_told_in_the_ids_of_the_family_and_read_back(
    layers: tuple[int, ...], blocks: int, architecture: str, ids: tuple[int, ...] | None
) -> None:
    assert layer_ids_for(layers, blocks=blocks, architecture=architecture) == ids
    assert layers_of(ids, blocks=blocks, architecture=architecture) == layers


def test_layers_that_nobody_could_tell_a_server_are_refused() -> None:
    with pytest.raises(Refused, match="boundary 8 of a target of 8 blocks"):
        layer_ids_for((2, 4, 8), blocks=BLOCKS, architecture="LlamaForCausalLM")
    with pytest.raises(Refused, match="NobodyKnows"):
        layer_ids_for((1, 4, 5), blocks=BLOCKS, architecture="NobodyKnowsForCausalLM")
    with pytest.raises(UsageError, match="not known"):
        layers_of((1, 3, 4), blocks=BLOCKS, architecture="NobodyKnowsForCausalLM")


def test_a_draft_of_another_target_is_refused(tmp_path: Path) -> None:
    folder, target = exported(tmp_path / "draft"), target_folder(tmp_path / "target")
    content = json.loads((folder / "config.json").read_text()) | {"vocab_size": 400}
    (folder / "config.json").write_text(json.dumps(content))
    tensors = load_file(folder / "model.safetensors")
    shown = torch.zeros(400, dtype=torch.bool)
    shown[list(USED)] = True
    save_file({**tensors, "t2d": shown}, folder / "model.safetensors")
    with pytest.raises(Refused, match="400 tokens, not of 16 and 300"):
        load_served(folder, load_target(target))
