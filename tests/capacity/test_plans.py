"""Whole plans: verdict, until when, alternatives and what to give up."""

from datetime import timedelta

import pytest
from capacity_volumes import GIB, NOON, TIB, candidate, reservation, volume, volume_of_the_story
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.capacity import (
    NO_RESERVE,
    Basis,
    Codec,
    ExtractionRecipe,
    ExtractionRequest,
    FinalState,
    FinishedRun,
    Fit,
    TrainingRequest,
    lacking_bytes,
    measure_headroom,
    plan_extraction,
    plan_running,
    plan_training,
    preset,
)
from artifactctl.domain.observation import Limit

KIMI = preset("kimi-k2.5")
STORY = ExtractionRequest(recipe=ExtractionRecipe(shape=KIMI, layers=(2, 30, 58)), tokens=87_800_000)
NINETEEN_HOURS = 19 * 3600.0
OLD_STATES = candidate("hidden-states-v1", 924 * GIB, superseded=True, cost=19 * 8)


def room(available_bytes: int, **kwargs):
    """Return the headroom of a volume with this much available and nothing kept back."""
    return measure_headroom(volume(available_bytes=available_bytes, **kwargs), reserve=NO_RESERVE)


def test_the_extraction_of_the_story_fits_and_nothing_has_to_be_deleted():
    headroom = measure_headroom(volume_of_the_story())

    plan = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[OLD_STATES])

    assert plan.verdict is Fit.FITS
    assert plan.reclaim == ()
    assert plan.shortfall_bytes == 0
    assert plan.bytes_per_token == 43_008
    assert 3_776_102_400_000 <= plan.demand_bytes <= 3_776_102_400_000 * 1.002
    assert plan.headroom_after_bytes / TIB == pytest.approx(7.5, abs=0.01)
    assert plan.limited_by == "filesystem"
    assert plan.full_at is None
    assert lacking_bytes(plan, headroom) == 0


def test_the_extraction_of_the_story_takes_72_hours_as_assumed_and_as_measured():
    headroom = measure_headroom(volume_of_the_story())
    run = FinishedRun(recipe=STORY.recipe.key, tokens=23_070_000, stored_bytes=924 * GIB, seconds=NINETEEN_HOURS)

    assumed = plan_extraction(STORY, headroom=headroom, now=NOON)
    measured = plan_extraction(STORY, headroom=headroom, now=NOON, runs=[run])

    assert assumed.basis is Basis.ASSUMED
    assert measured.basis is Basis.MEASURED
    for plan in (assumed, measured):
        assert plan.duration.total_seconds() / 3600 == pytest.approx(72.3, abs=0.05)
        assert plan.finishes_at == NOON + plan.duration
        assert plan.peak_at == plan.finishes_at


def test_a_smaller_volume_fits_after_the_superseded_states_are_given_up():
    headroom = room(3000 * GIB)

    plan = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[candidate("corpus", 900 * GIB), OLD_STATES])

    assert plan.verdict is Fit.FITS_AFTER_RECLAIM
    assert [(offer.name, offer.allocated_bytes, offer.available_at) for offer in plan.reclaim] == [
        ("hidden-states-v1", 924 * GIB, NOON)
    ]
    assert plan.fits_from == NOON
    assert plan.shortfall_bytes == plan.peak_bytes - 3000 * GIB
    assert lacking_bytes(plan, headroom) == plan.shortfall_bytes
    assert lacking_bytes(plan, room(4000 * GIB)) == 0


def test_what_does_not_fit_offers_nothing_for_removal_but_other_ways():
    plan = plan_extraction(STORY, headroom=room(2000 * GIB), now=NOON, candidates=[OLD_STATES])

    assert plan.verdict is Fit.DOES_NOT_FIT
    assert plan.reclaim == ()
    ways = {alternative.name: alternative for alternative in plan.alternatives}
    assert ways["codec_planes"].verdict is Fit.FITS_AFTER_RECLAIM
    assert ways["fp8"].verdict is Fit.FITS
    assert ways["fewer_tokens"].verdict is Fit.FITS


def test_it_says_when_the_volume_would_be_full():
    plan = plan_extraction(STORY, headroom=room(924 * GIB), now=NOON)

    assert plan.verdict is Fit.DOES_NOT_FIT
    assert (plan.full_at - NOON).total_seconds() == pytest.approx(NINETEEN_HOURS, rel=1e-3)


def test_the_assumed_codec_ratio_is_said_and_a_measured_one_replaces_it():
    coded = ExtractionRecipe(shape=KIMI, layers=(2, 30, 58), codec=Codec.PLANES)
    run = FinishedRun(recipe=coded.key, tokens=10**6, stored_bytes=int(10**6 * 43_013 * 0.7), seconds=None)

    assumed = plan_extraction(STORY, headroom=room(12 * TIB), now=NOON).alternatives[0]
    measured = plan_extraction(STORY, headroom=room(12 * TIB), now=NOON, runs=[run]).alternatives[0]

    assert (assumed.name, assumed.basis) == ("codec_planes", Basis.ASSUMED)
    assert "0.75 assumed" in assumed.note
    assert measured.basis is Basis.MEASURED
    assert measured.demand_bytes < assumed.demand_bytes


def test_a_codec_nobody_has_measured_is_planned_as_if_it_saved_nothing():
    coded = ExtractionRequest(
        recipe=ExtractionRecipe(shape=KIMI, layers=(2, 30, 58), codec=Codec.PLANES), tokens=STORY.tokens
    )

    plan = plan_extraction(coded, headroom=room(12 * TIB), now=NOON)

    assert plan.demand_bytes == plan_extraction(STORY, headroom=room(12 * TIB), now=NOON).demand_bytes
    assert "codec_planes" not in {alternative.name for alternative in plan.alternatives}


def test_leaving_out_the_final_state_is_an_alternative_where_there_is_one():
    full = ExtractionRequest(
        recipe=ExtractionRecipe(shape=KIMI, layers=(2, 30, 58), final_state=FinalState.POST), tokens=1_000_000
    )

    plan = plan_extraction(full, headroom=room(TIB), now=NOON)

    assert plan.bytes_per_token == 57_344
    assert "no_final_state" in {alternative.name for alternative in plan.alternatives}


def test_fewer_tokens_are_as_many_as_fit():
    headroom = room(924 * GIB)

    plan = plan_extraction(STORY, headroom=headroom, now=NOON)
    most = next(way.tokens for way in plan.alternatives if way.name == "fewer_tokens")

    def fit(tokens: int) -> Fit:
        return plan_extraction(
            ExtractionRequest(recipe=STORY.recipe, tokens=tokens), headroom=headroom, now=NOON
        ).verdict

    assert most == pytest.approx(23_070_000, rel=1e-3)
    assert (fit(most), fit(most + 1)) == (Fit.FITS, Fit.DOES_NOT_FIT)


def test_another_reservation_takes_its_room():
    usage = volume(available_bytes=4000 * GIB)
    promised = [reservation(reserved_bytes=1000 * GIB)]

    free = plan_extraction(STORY, headroom=measure_headroom(usage), now=NOON)
    taken = plan_extraction(STORY, headroom=measure_headroom(usage, reservations=promised), now=NOON)

    assert free.verdict is Fit.FITS
    assert taken.verdict is Fit.DOES_NOT_FIT
    assert taken.promised_bytes == 1000 * GIB


def test_expired_quarantine_counts_before_anything_still_in_place():
    expired = candidate("old-dump", 600 * GIB, set_aside=True, available_at=NOON - timedelta(days=1))

    plan = plan_extraction(STORY, headroom=room(3000 * GIB), now=NOON, candidates=[OLD_STATES, expired])

    assert [offer.name for offer in plan.reclaim] == ["old-dump"]
    assert plan.reclaim[0].available_at == NOON


def test_fresh_quarantine_counts_when_its_grace_ends_before_the_volume_is_full():
    soon = candidate("fresh", 600 * GIB, set_aside=True, available_at=NOON + timedelta(days=2))

    plan = plan_extraction(STORY, headroom=room(3000 * GIB), now=NOON, candidates=[OLD_STATES, soon])

    assert plan.full_at > NOON + timedelta(days=2)
    assert [offer.name for offer in plan.reclaim] == ["fresh"]


def test_fresh_quarantine_that_comes_too_late_is_passed_over_for_what_is_free_now():
    late = candidate("fresh", 600 * GIB, set_aside=True, available_at=NOON + timedelta(days=7))

    plan = plan_extraction(STORY, headroom=room(3000 * GIB), now=NOON, candidates=[OLD_STATES, late])

    assert [offer.name for offer in plan.reclaim] == ["hidden-states-v1"]


def test_where_only_late_bytes_would_do_it_says_from_when():
    late = candidate("fresh", 600 * GIB, set_aside=True, available_at=NOON + timedelta(days=7))

    plan = plan_extraction(STORY, headroom=room(3000 * GIB), now=NOON, candidates=[late])

    assert plan.verdict is Fit.FITS_AFTER_RECLAIM
    assert plan.fits_from == NOON + timedelta(days=7)


def test_giving_up_somebody_elses_files_does_not_widen_a_quota():
    headroom = room(12 * TIB, limits=(Limit(name="user quota", available_bytes=3000 * GIB),))
    charged = candidate("mine", 924 * GIB, relieves=("filesystem", "inodes", "user quota"))

    without = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[OLD_STATES])
    with_own = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[OLD_STATES, charged])

    assert (without.verdict, without.limited_by) == (Fit.DOES_NOT_FIT, "user quota")
    assert [offer.name for offer in with_own.reclaim] == ["mine"]


def test_a_shortage_of_inodes_is_met_by_giving_up_many_files():
    headroom = room(12 * TIB, available_inodes=500)
    many = candidate("many-small", GIB, freed_files=10_000)
    large = candidate("one-large", TIB, superseded=True, freed_files=1)

    plan = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[large, many])

    assert (plan.verdict, plan.limited_by) == (Fit.FITS_AFTER_RECLAIM, "inodes")
    assert [offer.name for offer in plan.reclaim] == ["many-small"]


def test_a_read_only_volume_takes_nothing():
    plan = plan_extraction(STORY, headroom=room(12 * TIB, read_only=True), now=NOON, candidates=[OLD_STATES])

    assert (plan.verdict, plan.limited_by) == (Fit.DOES_NOT_FIT, "read-only")


def test_fewer_kept_checkpoints_are_the_alternatives_of_training():
    plan = plan_training(TrainingRequest(draft_parameters=2_600_000_000, keep=3), headroom=room(120 * 10**9), now=NOON)

    assert plan.verdict is Fit.DOES_NOT_FIT
    assert plan.bytes_per_token is None
    assert [(way.name, way.verdict) for way in plan.alternatives] == [
        ("keep_2", Fit.FITS),
        ("keep_1", Fit.FITS),
    ]


def test_a_running_job_is_full_at_its_measured_rate():
    plan = plan_running(
        remaining_bytes=1000 * GIB, bytes_per_second=GIB, headroom=room(600 * GIB), now=NOON, remaining_tokens=10**6
    )

    assert plan.verdict is Fit.DOES_NOT_FIT
    assert plan.full_at == NOON + timedelta(seconds=600)
    assert plan.duration == timedelta(seconds=1000)
    assert plan.basis is Basis.MEASURED
    assert plan.tokens == 10**6


def test_the_reserve_shortens_the_headroom_but_not_the_time_until_writes_fail():
    usage = volume(size_bytes=TIB, available_bytes=600 * GIB)

    plan = plan_running(remaining_bytes=1000 * GIB, bytes_per_second=GIB, headroom=measure_headroom(usage), now=NOON)

    assert plan.headroom_bytes < 600 * GIB
    assert plan.full_at == NOON + timedelta(seconds=600)


def test_a_running_job_that_fits_is_never_full():
    plan = plan_running(remaining_bytes=GIB, bytes_per_second=1.0, headroom=room(2 * GIB), now=NOON)

    assert (plan.verdict, plan.full_at) == (Fit.FITS, None)


def test_a_running_job_whose_rate_is_unknown_says_assumed():
    plan = plan_running(remaining_bytes=2 * GIB, bytes_per_second=None, headroom=room(GIB), now=NOON)

    assert (plan.basis, plan.full_at, plan.duration) == (Basis.ASSUMED, None, None)


@given(
    available_bytes=st.integers(-(2**40), 2**44),
    inodes=st.integers(0, 2000),
    tokens=st.integers(1, 10**8),
    sizes=st.lists(st.tuples(st.integers(0, 2**42), st.integers(0, 2000)), max_size=4),
)
def test_a_plan_never_contradicts_itself(available_bytes, inodes, tokens, sizes):
    headroom = room(available_bytes, available_inodes=inodes, size_bytes=2**45)
    candidates = [candidate(f"c{at}", size, freed_files=files) for at, (size, files) in enumerate(sizes)]

    plan = plan_extraction(
        ExtractionRequest(recipe=STORY.recipe, tokens=tokens), headroom=headroom, now=NOON, candidates=candidates
    )

    freed_bytes = sum(offer.freed_bytes for offer in plan.reclaim)
    if plan.verdict is Fit.FITS:
        assert plan.peak_bytes <= available_bytes
        assert plan.files <= inodes
    elif plan.verdict is Fit.FITS_AFTER_RECLAIM:
        assert plan.peak_bytes <= available_bytes + freed_bytes
        assert plan.shortfall_bytes > 0
    else:
        assert plan.reclaim == ()


def test_one_shortage_of_bytes_and_one_of_inodes_are_met_together_without_waste():
    headroom = room(3000 * GIB, available_inodes=500)
    both = candidate("both", 924 * GIB, freed_files=10_000)
    only_files = candidate("only-files", GIB, freed_files=10_000, superseded=True)

    plan = plan_extraction(STORY, headroom=headroom, now=NOON, candidates=[only_files, both])

    assert [offer.name for offer in plan.reclaim] == ["both"]


def test_a_job_that_would_take_longer_than_a_century_has_no_end():
    plan = plan_running(remaining_bytes=2**62, bytes_per_second=0.001, headroom=room(GIB), now=NOON)

    assert (plan.duration, plan.full_at) == (None, None)
