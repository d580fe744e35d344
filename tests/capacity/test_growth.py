"""How fast bytes arrive and when a volume is full."""

from datetime import timedelta

import pytest
from capacity_volumes import GIB, NOON
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.capacity import full_at, rate_between, rate_from_history
from artifactctl.capacity.growth import GrowthPoint, peak_point, steady_growth, time_until

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def point(hours: float, occupied_bytes: int) -> GrowthPoint:
    return GrowthPoint(after=timedelta(hours=hours), occupied_bytes=occupied_bytes)


def test_a_steady_writer_fills_half_of_it_in_half_the_time():
    assert time_until(steady_growth(100, 10 * HOUR), 50) == 5 * HOUR


@pytest.mark.parametrize(
    ("limit_bytes", "expected"),
    [(100, None), (75, 1.75 * HOUR), (50, 1.5 * HOUR), (30, 0.75 * HOUR), (0, timedelta(0)), (-5, timedelta(0))],
    ids=["all it needs", "second stage", "after a removal", "first stage", "nothing left", "over-promised"],
)
def test_a_limit_is_crossed_when_the_growth_first_exceeds_it(limit_bytes, expected):
    points = (point(0, 0), point(1, 40), point(1, 0), point(2, 100))

    assert time_until(points, limit_bytes) == expected


def test_unknown_growth_has_no_time():
    assert time_until((), 0) is None
    assert peak_point(()) is None


def test_the_earliest_of_equal_peaks_counts():
    assert peak_point((point(0, 0), point(1, 9), point(2, 9))).after == HOUR


def test_a_volume_is_full_when_the_headroom_is_written():
    assert full_at(headroom_bytes=3600, bytes_per_second=1.0, now=NOON) == NOON + HOUR


def test_a_full_volume_is_full_now():
    assert full_at(headroom_bytes=0, bytes_per_second=0.0, now=NOON) == NOON


@pytest.mark.parametrize("rate", [0.0, 1e-9])
def test_a_writer_that_hardly_moves_never_fills_it(rate):
    assert full_at(headroom_bytes=GIB, bytes_per_second=rate, now=NOON) is None


def test_the_rate_of_a_bursty_writer_is_its_mean():
    burst = [(NOON + at * SECOND, (at // 10) * 10 * GIB) for at in range(101)]

    assert rate_between(burst) == pytest.approx(GIB, rel=0.1)


@pytest.mark.parametrize("samples", [[], [(NOON, 5)], [(NOON, 5), (NOON, 9)]])
def test_a_rate_needs_two_instants(samples):
    assert rate_between(samples) is None


def test_a_shrinking_folder_has_no_negative_rate():
    assert rate_between([(NOON, 10), (NOON + SECOND, 5)]) == 0


@given(rate=st.integers(1, 10**10), count=st.integers(2, 20))
def test_a_steady_rate_is_found_from_any_number_of_samples(rate, count):
    samples = [(NOON + at * SECOND, 7 + at * rate) for at in range(count)]

    assert rate_between(samples) == pytest.approx(rate)


def test_shards_already_written_tell_the_rate():
    shards = [(NOON + at * timedelta(minutes=5), 4 * GIB) for at in range(10)]

    assert rate_from_history(reversed(shards)) == pytest.approx(4 * GIB / 300)


@pytest.mark.parametrize("files", [[], [(NOON, 5)], [(NOON, 5), (NOON, 7)]])
def test_history_needs_two_instants(files):
    assert rate_from_history(files) is None
