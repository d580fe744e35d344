"""What people type as sizes, durations, counts and layers."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import (
    parse_duration,
    parse_layers,
    parse_parameters,
    parse_percent,
    parse_rate,
    parse_size,
    parse_tokens,
)

GIB = 2**30
PARSERS = [parse_size, parse_duration, parse_tokens, parse_parameters, parse_percent, parse_rate, parse_layers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("924GiB", 924 * GIB),
        ("1.5TB", 1_500_000_000_000),
        ("512 MiB", 512 * 2**20),
        ("0B", 0),
        ("7b", 7),
        ("10kB", 10_000),
        ("10KB", 10_000),
        ("10KiB", 10_240),
        ("2gib", 2 * GIB),
        ("2GIB", 2 * GIB),
        ("2gb", 2 * 10**9),
        ("0.1GiB", 107_374_182),
        (" 1PiB ", 2**50),
        ("7EiB", 7 * 2**60),
    ],
)
def test_a_size_with_its_unit_is_read_to_the_byte(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("924", "924GiB"),
        ("1.5", "1.5GB"),
        ("924g", "924GiB or 924GB"),
        ("924G", "924GiB or 924GB"),
        ("12t", "12TiB or 12TB"),
        ("12T", "12TiB or 12TB"),
        ("12Ti", "12TiB or 12TB"),
        ("5k", "5KiB or 5KB"),
        ("5Gb", "5GiB or 5GB"),
        ("5Gbit", "5GiB or 5GB"),
    ],
)
def test_a_size_without_a_clear_unit_is_refused_with_what_to_type(text, suggestion):
    with pytest.raises(UsageError) as refusal:
        parse_size(text)

    assert suggestion in refusal.value.remedy
    assert text in refusal.value.message


@pytest.mark.parametrize(
    "text",
    [
        "0.5B",
        "1e3GiB",
        "1,5TB",
        "1_000GiB",
        "0x10GiB",
        "924GiB\n",
        "9\tGiB",
        "GiB",
        "9XiB",
        "9EiB",
        ".5GiB",
        "5.GiB",
        "+5GiB",
    ],
)
def test_a_size_in_any_other_shape_is_refused(text):
    with pytest.raises(UsageError):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("72h", timedelta(hours=72)),
        ("14d", timedelta(days=14)),
        ("1d12h", timedelta(hours=36)),
        ("15m", timedelta(minutes=15)),
        ("15min", timedelta(minutes=15)),
        ("90s", timedelta(seconds=90)),
        ("1w", timedelta(days=7)),
        ("1w2d3h4m5s", timedelta(days=9, hours=3, minutes=4, seconds=5)),
        ("1.5h", timedelta(minutes=90)),
        ("0s", timedelta(0)),
    ],
)
def test_a_duration_is_read_with_its_units(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("15", "15m"),
        ("1y", "365d"),
        ("2months", "30d"),
        ("3M", "small m"),
        ("72H", "72h"),
        ("1h1h", "1d12h"),
        ("12h1d", "1d12h"),
        ("5 fortnights", "72h"),
        ("99999w", "shorter"),
    ],
)
def test_a_duration_that_is_unclear_is_refused_with_what_to_type(text, hint):
    with pytest.raises(UsageError) as refusal:
        parse_duration(text)

    assert hint in refusal.value.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("87.8M", 87_800_000),
        ("23070000", 23_070_000),
        ("1.2B", 1_200_000_000),
        ("10k", 10_000),
        ("138.4m", 138_400_000),
    ],
)
def test_token_counts_are_exact(text, expected):
    assert parse_tokens(text) == expected


@pytest.mark.parametrize("text", ["1.5", "0.0001k", "87.8G", "87.8MB", "23,070,000", "1e6", "99999999999999999999"])
def test_a_token_count_that_is_no_whole_number_is_refused(text):
    with pytest.raises(UsageError):
        parse_tokens(text)


def test_parameters_are_counted_in_powers_of_ten_and_never_zero():
    assert parse_parameters("2.6B") == 2_600_000_000
    with pytest.raises(UsageError):
        parse_parameters("0")


def test_a_percentage_is_an_exact_share():
    assert parse_percent("98.3%") == Decimal("0.983")
    assert parse_percent("100 %") == 1


@pytest.mark.parametrize("text", ["98.3", "0.983", "100.1%", "%", "98,3%"])
def test_a_percentage_needs_its_sign_and_stays_within_the_whole(text):
    with pytest.raises(UsageError):
        parse_percent(text)


def test_a_rate_is_bytes_per_second():
    assert parse_rate("200MiB/s") == 200 * 2**20
    assert parse_rate("1 GB/s") == 10**9


@pytest.mark.parametrize("text", ["200MiB", "200/s", "0B/s", "200Mbit/s", "200MiB/min"])
def test_a_rate_in_another_unit_is_refused(text):
    with pytest.raises(UsageError):
        parse_rate(text)


def test_layers_come_back_ascending():
    assert parse_layers("58,2,30") == (2, 30, 58)
    assert parse_layers("2, 30, 58") == (2, 30, 58)


@pytest.mark.parametrize("text", ["2,,58", "2,2", "2,-1", "2;30", "a", "2,30,", "1.5", "99999"])
def test_layers_in_any_other_shape_are_refused(text):
    with pytest.raises(UsageError):
        parse_layers(text)


@pytest.mark.parametrize(
    "text", ["", "   ", "-1", "-5GiB", "nan", "inf", "\u0661\u0662GiB", "\uff15GiB", "\u00b2", "5\u00a0GiB"]
)
@pytest.mark.parametrize("parse", PARSERS)
def test_no_quantity_is_empty_negative_or_written_in_foreign_digits(parse, text):
    with pytest.raises(UsageError) as refusal:
        parse(text)

    assert refusal.value.remedy


@given(st.text(max_size=12))
def test_any_text_is_either_read_or_refused_with_a_remedy(text):
    for parse in PARSERS:
        refusals = []
        try:
            parse(text)
        except UsageError as refusal:
            refusals.append(refusal)

        assert all(refusal.remedy for refusal in refusals)


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_whole_bytes_and_whole_tokens_survive_being_written_out(count):
    assert parse_size(f"{count}B") == count
    assert parse_tokens(str(count)) == count


@given(st.integers(0, 10**6), st.integers(0, 999_999))
def test_millions_with_six_decimals_are_exact(millions, rest):
    assert parse_tokens(f"{millions}.{rest:06d}M") == millions * 10**6 + rest


@given(st.integers(0, 300), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_durations_written_in_all_units_add_up(days, hours, minutes, seconds):
    written = f"{days}d{hours}h{minutes}m{seconds}s"

    assert parse_duration(written) == timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
