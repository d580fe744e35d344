"""The one way byte counts, durations and token counts are printed."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.quantities import parse_size, parse_tokens
from artifactctl.report.sizes import (
    format_bytes,
    format_bytes_as_du,
    format_bytes_both,
    format_days,
    format_duration,
    format_rate,
    format_tokens,
    format_whole_gib,
)

GIB = 2**30
STATES_OF_THE_STORY = 87_800_000 * 43_008


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (924 * GIB, "924.00 GiB"),
        (STATES_OF_THE_STORY, "3,516.77 GiB"),
        (12 * 1024 * GIB, "12.00 TiB"),
        (42 * 1024, "42.00 KiB"),
        (1023, "1,023 B"),
        (2**20 - 1, "1.00 MiB"),
        (0, "0 B"),
        (-5 * GIB, "-5.00 GiB"),
    ],
)
def test_byte_counts_are_printed_in_binary_units(size_bytes, expected):
    assert format_bytes(size_bytes) == expected


def test_the_decimal_figure_stands_beside_the_binary_one():
    assert format_bytes_both(STATES_OF_THE_STORY) == "3,516.77 GiB (3,776.10 GB)"
    assert format_bytes_both(17) == "17 B"


def test_the_hidden_states_of_the_story_round_to_the_figure_it_prints():
    assert format_whole_gib(STATES_OF_THE_STORY) == "3,517 GiB"


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (924 * GIB, "924G"),
        (924 * GIB - 1, "924G"),
        (1021 * GIB, "1021G"),
        (12 * 1024 * GIB, "12T"),
        (840 * 1024, "840K"),
        (97 * GIB + 1, "98G"),
        (STATES_OF_THE_STORY, "3.5T"),
        (9 * GIB + 1, "9.1G"),
        (1024 * GIB - 1, "1.0T"),
        (0, "0"),
        (12, "12"),
    ],
)
def test_du_rounds_up_as_du_does(size_bytes, expected):
    assert format_bytes_as_du(size_bytes) == expected


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(hours=72.3), "72.3 h"),
        (timedelta(seconds=42), "42 s"),
        (timedelta(minutes=15), "15 min"),
        (timedelta(hours=100), "4 d 4 h"),
        (timedelta(hours=-3), "-3.0 h"),
    ],
)
def test_durations_are_printed_in_one_unit_up_to_a_hundred_hours(duration, expected):
    assert format_duration(duration) == expected


def test_days_carry_their_hours_where_there_are_any():
    assert format_days(timedelta(hours=75)) == "3 d 3 h"
    assert format_days(timedelta(hours=72)) == "3 d"
    assert format_days(timedelta(hours=71, minutes=59)) == "3 d"


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (87_800_000, "87.8 M"),
        (23_070_000, "23.07 M"),
        (1_200_000_000, "1.2 B"),
        (10_000, "10,000"),
        (999, "999"),
        (999_999, "999,999"),
        (999_999_999, "1 B"),
    ],
)
def test_token_counts_keep_at_most_two_decimals(tokens, expected):
    assert format_tokens(tokens) == expected


def test_a_rate_is_bytes_per_second():
    assert format_rate(200 * 2**20) == "200.00 MiB/s"


@given(st.integers(0, 2**62))
def test_what_is_printed_reads_back_within_its_last_digit(size_bytes):
    printed = format_bytes(size_bytes)

    assert abs(parse_size(printed.replace(",", "")) - size_bytes) <= max(1, size_bytes // 100)


@given(st.integers(0, 10**13))
def test_printed_token_counts_read_back_within_their_last_digit(tokens):
    printed = format_tokens(tokens)

    assert abs(parse_tokens(printed.replace(",", "")) - tokens) <= tokens // 100 + 1
