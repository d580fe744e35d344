"""Model shapes by name and from config.json."""

import pytest

from artifactctl.capacity import ExtractionRecipe, FinalState, model_shape_from_config, preset, preset_names
from artifactctl.domain.errors import UsageError


@pytest.mark.parametrize(
    ("name", "vocabulary", "boundaries", "bytes_per_token", "with_final_state"),
    [
        ("kimi-k2.5", 163_840, (2, 30, 58), 43_008, 57_344),
        ("kimi-k2", 163_840, (2, 30, 58), 43_008, 57_344),
        ("deepseek-v3", 129_280, (2, 30, 58), 43_008, 57_344),
        ("llama-3.1-8b", 128_256, (2, 16, 29), 24_576, 32_768),
        ("llama-3.3-70b", 128_256, (2, 40, 77), 49_152, 65_536),
        ("qwen3-8b", 151_936, (2, 18, 33), 24_576, 32_768),
        ("qwen3-32b", 151_936, (2, 32, 61), 30_720, 40_960),
        ("qwen3-30b-a3b", 151_936, (2, 24, 45), 12_288, 16_384),
        ("qwen3-235b-a22b", 151_936, (2, 47, 91), 24_576, 32_768),
        ("qwen3-coder-480b", 151_936, (2, 31, 59), 36_864, 49_152),
        ("gpt-oss-20b", 201_088, (2, 12, 21), 17_280, 23_040),
        ("gpt-oss-120b", 201_088, (2, 18, 33), 17_280, 23_040),
        ("glm-4.5-air", 151_552, (2, 23, 43), 24_576, 32_768),
        ("glm-4.6", 151_552, (2, 46, 89), 30_720, 40_960),
        ("llama-4-maverick", 202_048, (2, 24, 45), 30_720, 40_960),
        ("minimax-m2.5", 200_064, (2, 31, 59), 18_432, 24_576),
    ],
)
def test_every_preset_yields_the_bytes_per_token_of_the_table(
    name, vocabulary, boundaries, bytes_per_token, with_final_state
):
    shape = preset(name)
    plain = ExtractionRecipe(shape=shape, layers=shape.default_boundaries)
    full = ExtractionRecipe(shape=shape, layers=shape.default_boundaries, final_state=FinalState.POST)

    assert shape.vocab_size == vocabulary
    assert shape.default_boundaries == boundaries
    assert plain.bytes_per_token == bytes_per_token
    assert full.bytes_per_token == with_final_state


@pytest.mark.parametrize("name", ["moonshotai/Kimi-K2.5", "Kimi_K2.5", "meta-llama/Llama-3.1-8B-Instruct"])
def test_names_are_recognised_as_hubs_spell_them(name):
    assert preset(name).hidden_size in (7168, 4096)


def test_an_unknown_preset_suggests_the_closest():
    with pytest.raises(UsageError) as refusal:
        preset("kimi-k25")

    assert "did you mean `kimi-k2.5`?" in refusal.value.remedy


def test_an_unknown_preset_far_from_all_lists_them():
    with pytest.raises(UsageError) as refusal:
        preset("zzzz")

    assert all(name in refusal.value.remedy for name in preset_names())


def test_a_flat_config_is_read():
    shape = model_shape_from_config(
        {"hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 128_256}, name="config.json"
    )

    assert (shape.hidden_size, shape.layers, shape.vocab_size) == (4096, 32, 128_256)


@pytest.mark.parametrize(
    "config",
    [
        {"text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163_840}},
        {
            "hidden_size": 1152,
            "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
            "text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163_840},
        },
        {"text_hidden_size": 7168, "text_config": {"num_hidden_layers": 61}, "vocab_size": 163_840},
        {"text_hidden_size": 7168, "hidden_size": 1152, "num_hidden_layers": 61, "vocab_size": 163_840},
    ],
    ids=["nested", "nested beside a vision tower", "width outside", "flat with a text width"],
)
def test_a_multimodal_config_is_read_for_its_text_model(config):
    shape = model_shape_from_config(config, name="kimi/config.json")

    assert (shape.hidden_size, shape.layers, shape.vocab_size) == (7168, 61, 163_840)
    assert shape.key == preset("kimi-k2.5").key


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"hidden_size": 4096},
        {"hidden_size": "4096", "num_hidden_layers": 32},
        {"hidden_size": True, "num_hidden_layers": 32},
        {"hidden_size": 4096, "num_hidden_layers": -1},
        {"hidden_size": 4096.0, "num_hidden_layers": 32},
        {"text_config": "nested", "num_hidden_layers": 32},
    ],
)
def test_a_config_without_usable_sizes_is_refused_by_name(config):
    with pytest.raises(UsageError) as refusal:
        model_shape_from_config(config, name="broken/config.json")

    assert "broken/config.json" in refusal.value.message


def test_the_config_of_a_draft_model_is_refused():
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 7168, "num_hidden_layers": 1}

    with pytest.raises(UsageError, match="draft"):
        model_shape_from_config(draft, name="draft/config.json")


@pytest.mark.parametrize("layers", [1, 4, 6])
def test_a_model_too_shallow_for_the_default_layers_says_so(layers):
    shape = model_shape_from_config({"hidden_size": 64, "num_hidden_layers": layers}, name="tiny")

    with pytest.raises(UsageError, match="too few"):
        _ = shape.default_boundaries


def test_seven_layers_are_enough_for_the_default():
    shape = model_shape_from_config({"hidden_size": 64, "num_hidden_layers": 7}, name="tiny")

    assert shape.default_boundaries == (2, 3, 4)
