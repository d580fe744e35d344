"""What extractions, training runs and running jobs write."""

from datetime import timedelta
from fractions import Fraction

import pytest
from capacity_volumes import GIB
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.capacity import (
    PACKED,
    SPECFORGE,
    SPECULATORS,
    Codec,
    ElementType,
    ExtractionRecipe,
    FileLayout,
    FinalState,
    ModelShape,
    parse_element_type,
    preset,
    recipe_from_labels,
)
from artifactctl.capacity.demand import extraction_demand, running_demand, training_demand
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_tokens
from artifactctl.report.sizes import format_bytes_both, format_whole_gib

KIMI = preset("kimi-k2.5")
STORY = ExtractionRecipe(shape=KIMI, layers=(2, 30, 58))
LARGE_ENOUGH = st.integers(1, 10**12)


def states_bytes(tokens: int) -> int:
    return extraction_demand(STORY, tokens=tokens).parts[0].part_bytes


def test_the_story_needs_42_kib_for_every_token():
    assert STORY.bytes_per_token == 43_008 == 42 * 1024


def test_the_merged_corpus_needs_what_the_acceptance_demands():
    demand = extraction_demand(STORY, tokens=parse_tokens("87.8M"))

    assert 3_776_102_400_000 <= demand.final_bytes <= 3_776_102_400_000 * 1.002
    assert demand.parts[0].part_bytes == 3_776_102_400_000
    assert demand.peak_bytes == demand.final_bytes


def test_the_figures_of_the_write_ups_come_out():
    assert format_bytes_both(states_bytes(87_800_000)) == "3,516.77 GiB (3,776.10 GB)"
    assert format_whole_gib(states_bytes(87_800_000)) == "3,517 GiB"
    assert states_bytes(138_400_000) / GIB == pytest.approx(5543.5, abs=0.05)
    assert 924 * GIB / STORY.bytes_per_token == pytest.approx(23_070_000, rel=1e-3)


def test_a_decimal_kilobyte_would_contradict_the_write_ups():
    assert round(87_800_000 * 42_000 / GIB) == 3434


def test_capturing_all_71_layers_would_contradict_the_write_ups():
    bytes_per_token = 71 * 7168 * 2

    assert bytes_per_token == 994 * 1024
    assert 924 * GIB / bytes_per_token == pytest.approx(0.975e6, rel=1e-3)


@pytest.mark.parametrize("final_state", [FinalState.PRE, FinalState.POST])
def test_the_final_state_costs_as_much_as_a_layer(final_state):
    recipe = ExtractionRecipe(shape=KIMI, layers=(2, 30, 58), final_state=final_state)

    assert recipe.bytes_per_token == 57_344


@pytest.mark.parametrize(
    ("element", "bytes_per_token"),
    [("bf16", 43_008), ("torch.bfloat16", 43_008), ("fp32", 86_016), ("fp8", 3 * (7168 + 4)), ("float16", 43_008)],
)
def test_the_element_type_scales_the_states(element, bytes_per_token):
    recipe = ExtractionRecipe(shape=KIMI, layers=(2, 30, 58), element=parse_element_type(element))

    assert recipe.bytes_per_token == bytes_per_token


def test_an_unknown_element_type_suggests_the_closest():
    with pytest.raises(UsageError) as refusal:
        parse_element_type("bf61")

    assert "bf16" in refusal.value.remedy


@pytest.mark.parametrize("layers", [(62,), (2, 30, 62), ()])
def test_layers_outside_the_model_are_refused(layers):
    with pytest.raises(UsageError):
        ExtractionRecipe(shape=KIMI, layers=layers)


def test_the_embeddings_and_the_output_of_the_last_block_are_layers():
    assert ExtractionRecipe(shape=KIMI, layers=(0, 61)).states == 2


def test_the_last_boundary_and_the_final_state_before_the_norm_are_the_same_state():
    with pytest.raises(UsageError, match="already is its final state"):
        ExtractionRecipe(shape=KIMI, layers=(2, 61), final_state=FinalState.PRE)

    assert ExtractionRecipe(shape=KIMI, layers=(2, 61), final_state=FinalState.POST).states == 3


def test_the_layouts_of_other_tools_cost_their_documented_bytes_per_token():
    llama = preset("llama-3.1-8b")
    full = ExtractionRecipe(shape=llama, layers=(2, 16, 29), final_state=FinalState.POST)

    assert full.bytes_per_token + SPECFORGE.label_bytes == 8 * 4096 + 16 == 32_784
    assert full.bytes_per_token + SPECULATORS.label_bytes == 8 * 4096 + 8


def test_a_published_sharegpt_extraction_comes_out_within_five_percent():
    llama = preset("llama-3.1-8b")
    full = ExtractionRecipe(shape=llama, layers=(2, 16, 29), final_state=FinalState.POST)

    demand = extraction_demand(full, tokens=68_000 * 540, layout=SPECFORGE, records=68_000)

    assert demand.final_bytes == pytest.approx(1.2e12, rel=0.05)
    assert demand.files == 68_000 + 2


def test_one_file_for_each_record_needs_the_number_of_records():
    with pytest.raises(UsageError, match="how many"):
        extraction_demand(STORY, tokens=1000, layout=SPECFORGE)


def test_shards_of_four_gib_are_counted():
    demand = extraction_demand(STORY, tokens=87_800_000, layout=PACKED)

    assert demand.files == 880 + 2


def test_padding_multiplies_what_is_stored():
    padded = FileLayout(padding=Fraction(3, 2))

    assert extraction_demand(STORY, tokens=1000, layout=padded).parts[0].part_bytes == 1500 * 43_008


def test_staging_counts_in_the_peak_only():
    demand = extraction_demand(STORY, tokens=1000, staging_bytes=GIB)

    assert demand.peak_bytes == demand.final_bytes + GIB


@given(tokens=LARGE_ENOUGH, more=LARGE_ENOUGH)
def test_more_tokens_never_need_less(tokens, more):
    assert (
        extraction_demand(STORY, tokens=tokens).final_bytes < extraction_demand(STORY, tokens=tokens + more).final_bytes
    )


@given(
    tokens=LARGE_ENOUGH,
    hidden=st.integers(1, 20_000),
    depth=st.integers(7, 200),
    element=st.sampled_from(ElementType),
    final=st.sampled_from(FinalState),
)
def test_no_demand_is_below_its_states_and_the_parts_add_up(tokens, hidden, depth, element, final):
    shape = ModelShape(name="any", hidden_size=hidden, layers=depth)
    recipe = ExtractionRecipe(shape=shape, layers=shape.default_boundaries, element=element, final_state=final)

    demand = extraction_demand(recipe, tokens=tokens)

    assert demand.final_bytes >= tokens * recipe.bytes_per_token
    assert demand.final_bytes == sum(part.part_bytes for part in demand.parts)


@pytest.mark.parametrize("ratio", [0, -1, float("nan"), float("inf")])
def test_an_impossible_codec_ratio_is_refused(ratio):
    with pytest.raises(UsageError):
        extraction_demand(STORY, tokens=1000, codec_ratio=ratio)


def test_no_tokens_are_refused():
    with pytest.raises(UsageError):
        extraction_demand(STORY, tokens=0)


def test_a_resumable_checkpoint_is_fourteen_bytes_a_parameter_and_one_more_is_being_written():
    demand = training_demand(draft_parameters=2_600_000_000, keep=3)

    assert demand.final_bytes == 3 * 14 * 2_600_000_000 + 2 * 2_600_000_000
    assert demand.peak_bytes == 4 * 14 * 2_600_000_000 + 2 * 2_600_000_000


def test_a_published_draft_model_comes_out():
    trainable_parameters = 1_060_000_000

    demand = training_demand(draft_parameters=trainable_parameters, keep=1)

    assert demand.parts[0].part_bytes == pytest.approx(14.8e9, rel=0.01)
    assert demand.parts[1].part_bytes == pytest.approx(2.1e9, rel=0.01)


def test_keeping_no_checkpoint_is_refused():
    with pytest.raises(UsageError):
        training_demand(draft_parameters=1, keep=0)


def test_a_running_job_takes_as_long_as_its_rate_says():
    demand = running_demand(remaining_bytes=100 * GIB, bytes_per_second=GIB / 10)

    assert demand.duration == timedelta(seconds=1000)
    assert demand.peak_bytes == 100 * GIB


@pytest.mark.parametrize("rate", [None, 0.0])
def test_a_running_job_that_does_not_move_has_no_end(rate):
    assert running_demand(remaining_bytes=GIB, bytes_per_second=rate).duration is None


def test_a_running_job_that_wrote_more_than_announced_is_refused():
    with pytest.raises(UsageError):
        running_demand(remaining_bytes=-1, bytes_per_second=1.0)


def test_labels_bring_the_recipe_back():
    labels = {"model": "kimi-k2.5", "layers": "2,30,58", "codec": "planes"}

    recipe = recipe_from_labels(labels)

    assert recipe is not None
    assert recipe.codec is Codec.PLANES
    assert recipe.layers == (2, 30, 58)


@pytest.mark.parametrize(
    "labels",
    [{}, {"model": "somebody's own"}, {"model": "kimi-k2.5", "layers": "all"}, {"model": "qwen3-8b", "codec": "x"}],
)
def test_labels_of_somebody_elses_making_are_no_recipe(labels):
    assert recipe_from_labels(labels) is None
