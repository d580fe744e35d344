"""Several stages from one file: the peak of each volume, and when."""

import tomllib
from datetime import timedelta

import pytest
from capacity_volumes import GIB, NOON, TIB, volume

from artifactctl.capacity import (
    NO_RESERVE,
    FinishedRun,
    Fit,
    PipelineWorld,
    measure_headroom,
    parse_pipeline,
    plan_pipeline,
    timeline,
)
from artifactctl.domain.errors import UsageError

STORY = """
volume = "scratch"

[[stage]]
name = "states"
kind = "extraction"
tokens = "87.8M"
model = "kimi-k2.5"
layers = [2, 30, 58]

[[stage]]
name = "draft"
kind = "training"
draft_params = "2.6B"
keep = 3
duration = "40h"
frees = ["states"]
staging = "64GiB"
staging_volume = "/dev/shm"

[[stage]]
name = "export"
kind = "other"
volume = "archive"
writes = "10GiB"
duration = "1h"
"""

CHECKPOINT_BYTES = 14 * 2_600_000_000
EXPORT_BYTES = 2 * 2_600_000_000


def stages_of(text: str, **kwargs):
    return parse_pipeline(tomllib.loads(text), source="pipeline.toml", **kwargs)


def with_line(line: str, *, stage: int) -> str:
    """Return the story's file with one more line at the end of a stage's table."""
    tables = STORY.split("[[stage]]")
    tables[stage] += line + "\n"
    return "[[stage]]".join(tables)


def needs_of(text: str):
    return {need.volume: need for need in timeline(stages_of(text)).needs}


def headroom(available_bytes: int):
    return measure_headroom(volume(available_bytes=available_bytes), reserve=NO_RESERVE)


def test_the_peak_is_where_states_and_checkpoints_lie_side_by_side():
    scratch = needs_of(STORY)["scratch"]
    states = stages_of(STORY)[0].demand

    assert scratch.peak_stage == "draft"
    assert scratch.demand.peak_bytes == states.final_bytes + 4 * CHECKPOINT_BYTES + EXPORT_BYTES


def test_what_a_later_stage_frees_is_not_there_at_the_end():
    scratch = needs_of(STORY)["scratch"]

    assert scratch.demand.final_bytes == 3 * CHECKPOINT_BYTES + EXPORT_BYTES
    assert [part.name for part in scratch.demand.parts] == ["draft"]


def test_staging_on_another_volume_is_a_demand_of_its_own():
    shared_memory = needs_of(STORY)["/dev/shm"]

    assert (shared_memory.demand.peak_bytes, shared_memory.demand.final_bytes) == (64 * GIB, 0)
    assert shared_memory.peak_stage == "draft"


def test_staging_on_the_same_volume_adds_to_the_peak():
    moved = STORY.replace('staging_volume = "/dev/shm"\n', "")

    assert needs_of(moved)["scratch"].demand.peak_bytes == needs_of(STORY)["scratch"].demand.peak_bytes + 64 * GIB


def test_stages_run_one_after_the_other():
    spans = timeline(stages_of(STORY)).spans

    assert spans[0].starts_after == timedelta(0)
    assert spans[0].duration.total_seconds() / 3600 == pytest.approx(72.3, abs=0.05)
    assert spans[1].starts_after == spans[0].duration
    assert spans[2].starts_after == spans[0].duration + timedelta(hours=40)
    assert (spans[1].before_bytes, spans[2].before_bytes) == (spans[0].after_bytes, 0)


def test_after_a_stage_of_unknown_duration_nothing_has_a_time():
    spans = timeline(stages_of(STORY.replace('duration = "40h"\n', ""))).spans

    assert spans[1].starts_after is not None
    assert spans[2].starts_after is None


def test_each_volume_of_the_pipeline_gets_a_plan():
    plans = plan_pipeline(
        stages_of(STORY),
        headrooms={"scratch": headroom(12 * TIB), "archive": headroom(TIB), "/dev/shm": headroom(32 * GIB)},
        now=NOON,
    )

    assert [plan.verdict for plan in plans] == [Fit.FITS, Fit.DOES_NOT_FIT, Fit.FITS]
    assert plans[0].peak_at == NOON + timeline(stages_of(STORY)).spans[2].starts_after


def test_a_pipeline_says_in_which_stage_the_volume_is_full():
    states = stages_of(STORY)[0].demand

    plans = plan_pipeline(
        stages_of(STORY),
        headrooms={
            "scratch": headroom(states.final_bytes + CHECKPOINT_BYTES),
            "archive": headroom(TIB),
            "/dev/shm": headroom(TIB),
        },
        now=NOON,
    )

    draft_starts = NOON + states.duration
    assert draft_starts < plans[0].full_at < draft_starts + timedelta(hours=40)


def test_a_volume_that_nobody_measured_is_refused():
    with pytest.raises(UsageError, match="scratch"):
        plan_pipeline(stages_of(STORY), headrooms={}, now=NOON)


def test_a_corpus_is_looked_up_by_name_and_runs_calibrate():
    text = STORY.replace('tokens = "87.8M"', 'corpus = "merged"')
    recipe = stages_of(STORY)[0].demand.recipe
    run = FinishedRun(recipe=recipe, tokens=1_000_000, stored_bytes=43_013_000_000, seconds=1000.0)

    stage = stages_of(text, world=PipelineWorld(runs=(run,), tokens_of={"merged": 5_000_000}.__getitem__))[0]

    assert stage.demand.tokens == 5_000_000
    assert stage.demand.duration == timedelta(seconds=5000)


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        (with_line("kep = 2", stage=2), "stage 2 (`draft`): unknown key `kep`", "`keep`"),
        (with_line("layrs = 2", stage=1), "stage 1 (`states`): unknown key `layrs`", "`layers`"),
        (STORY.replace("volume =", "volum =", 1), "unknown key `volum`", "`volume`"),
        (STORY.replace('"extraction"', '"extracton"'), "stage 1 (`states`)", "`extraction`"),
        (with_line('corpus = "merged"', stage=1), "either tokens or a corpus", "tokens"),
        (STORY.replace('tokens = "87.8M"', ""), "either tokens or a corpus", "corpus"),
        (STORY.replace('"87.8M"', '"87.8X"'), "stage 1 (`states`)", "87.8M"),
        (STORY.replace('"87.8M"', "true"), "stage 1 (`states`): `tokens` is not text", "quotes"),
        (STORY.replace('"10GiB"', '"10"'), "stage 3 (`export`)", "10GiB"),
        (STORY.replace('"kimi-k2.5"', '"kimi-k25"'), "stage 1 (`states`)", "`kimi-k2.5`"),
        (STORY.replace("[2, 30, 58]", "[2, 30, 99]"), "layer 99 does not exist", "61"),
        (STORY.replace("keep = 3", 'keep = "3"'), "`keep` is not a whole number", "keep = 3"),
        (STORY.replace('["states"]', '"states"'), "`frees` is not a list", "NAME"),
        (STORY.replace('volume = "scratch"', ""), "has no volume", "volume ="),
        (with_line('codec = "plane"', stage=1), "`plane` is not a value of `codec`", "`planes`"),
        ('volume = "scratch"', "no stages", "[[stage]]"),
        ("stage = [1]", "no stages", "[[stage]]"),
        (STORY.replace('tokens = "87.8M"', 'corpus = "merged"'), "the corpus `merged`", "tokens ="),
    ],
)
def test_a_mistake_in_the_file_is_refused_with_place_and_remedy(text, said, remedy):
    with pytest.raises(UsageError) as refusal:
        stages_of(text)

    assert refusal.value.message.startswith("pipeline.toml")
    assert said in refusal.value.message
    assert remedy in refusal.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STORY.replace('["states"]', '["stats"]'), "frees `stats`"),
        (STORY.replace('name = "draft"', 'name = "states"'), "called `states`"),
    ],
)
def test_stages_must_have_names_of_their_own_and_free_only_earlier_ones(text, said):
    with pytest.raises(UsageError) as refusal:
        timeline(stages_of(text))

    assert said in refusal.value.message
