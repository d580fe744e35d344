"""What finished runs teach."""

import pytest
from capacity_volumes import GIB
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.capacity import Basis, Codec, ExtractionRecipe, FinishedRun, preset
from artifactctl.capacity.calibration import calibrate_extraction, calibrate_training
from artifactctl.capacity.demand import extraction_demand, training_key

STORY = ExtractionRecipe(shape=preset("kimi-k2.5"), layers=(2, 30, 58))
CODED = ExtractionRecipe(shape=preset("kimi-k2.5"), layers=(2, 30, 58), codec=Codec.PLANES)
NINETEEN_HOURS = 19 * 3600.0


def run(recipe: str | None = STORY.key, *, tokens=23_070_000, stored_bytes=924 * GIB, seconds=NINETEEN_HOURS):
    return FinishedRun(recipe=recipe, tokens=tokens, stored_bytes=stored_bytes, seconds=seconds)


def hours_for_the_merged_corpus(calibration) -> float:
    demand = extraction_demand(STORY, tokens=87_800_000, tokens_per_second=calibration.tokens_per_second)
    return demand.duration.total_seconds() / 3600


def test_without_runs_the_founding_rate_is_assumed():
    calibration = calibrate_extraction(STORY, [])

    assert calibration.basis is Basis.ASSUMED
    assert calibration.codec_ratio == 1
    assert hours_for_the_merged_corpus(calibration) == pytest.approx(72.3, abs=0.05)


def test_one_run_of_the_recipe_makes_it_measured():
    calibration = calibrate_extraction(STORY, [run()])

    assert calibration.basis is Basis.MEASURED
    assert calibration.note == "measured, 1 run"
    assert hours_for_the_merged_corpus(calibration) == pytest.approx(72.3, abs=0.05)


def test_several_runs_are_pooled():
    calibration = calibrate_extraction(STORY, [run(), run(tokens=46_140_000, stored_bytes=1848 * GIB)])

    assert calibration.tokens_per_second == pytest.approx(1.5 * 23_070_000 / NINETEEN_HOURS)
    assert calibration.note == "measured, 2 runs"


def test_a_run_of_another_recipe_teaches_nothing():
    assert calibrate_extraction(STORY, [run(CODED.key)]).basis is Basis.ASSUMED


def test_another_model_has_no_assumed_rate():
    llama = ExtractionRecipe(shape=preset("llama-3.1-8b"), layers=(2, 16, 29))

    assert calibrate_extraction(llama, []).tokens_per_second is None


def test_a_run_that_recorded_no_recipe_counts_when_its_bytes_per_token_match():
    calibration = calibrate_extraction(STORY, [run(None)])

    assert calibration.basis is Basis.MEASURED
    assert "matched by bytes per token" in calibration.note


def test_a_run_that_recorded_no_recipe_and_has_other_bytes_does_not_count():
    assert calibrate_extraction(STORY, [run(None, stored_bytes=600 * GIB)]).basis is Basis.ASSUMED


def test_a_run_that_recorded_no_recipe_never_teaches_a_codec_ratio():
    assert calibrate_extraction(CODED, [run(None)]).basis is Basis.ASSUMED


def test_the_worst_codec_ratio_seen_is_planned_with():
    plain_bytes = 1_000_000 * (43_008 + 5)
    good = run(CODED.key, tokens=1_000_000, stored_bytes=int(plain_bytes * 0.70))
    worse = run(CODED.key, tokens=1_000_000, stored_bytes=int(plain_bytes * 0.72))

    calibration = calibrate_extraction(CODED, [good, worse])

    assert calibration.codec_ratio == pytest.approx(0.72)
    assert calibration.ratio_runs == 2


@pytest.mark.parametrize("tokens", [23_000_000, 23_070_000, 23_500_000])
def test_a_rounded_token_count_does_not_bend_the_bytes_of_an_uncoded_recipe(tokens):
    assert calibrate_extraction(STORY, [run(tokens=tokens)]).codec_ratio == 1


def test_a_writer_that_pads_is_planned_with_its_padding():
    assert calibrate_extraction(STORY, [run(stored_bytes=2 * 924 * GIB)]).codec_ratio == pytest.approx(2, rel=1e-3)


def test_a_run_without_a_time_teaches_the_ratio_only():
    calibration = calibrate_extraction(STORY, [run(seconds=None)])

    assert calibration.tokens_per_second is None
    assert calibration.basis is Basis.MEASURED


@pytest.mark.parametrize("broken", [{"tokens": 0}, {"seconds": 0.0}, {"stored_bytes": -1}])
def test_a_run_that_cannot_be_is_refused(broken):
    with pytest.raises(ValueError, match="teaches nothing"):
        run(**broken)


def test_training_runs_of_the_same_draft_size_give_the_rate():
    key = training_key(2_600_000_000)

    calibration = calibrate_training(
        key, [run(key, tokens=1_000_000, seconds=100.0), run(training_key(1), seconds=1.0)]
    )

    assert calibration.tokens_per_second == 10_000
    assert calibration.basis is Basis.MEASURED


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=5))
def test_an_uncoded_recipe_is_never_planned_below_its_states(stored):
    runs = [run(tokens=1_000_000, stored_bytes=size) for size in stored]

    assert calibrate_extraction(STORY, runs).codec_ratio >= 1
