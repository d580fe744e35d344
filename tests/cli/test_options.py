"""Words of the command line become values, or an error that says why not."""

import os
from datetime import UTC, datetime, timedelta

import click
import pytest

from artifactctl.cli.options import (
    ARTIFACT,
    DURATION,
    FUTURE,
    LAYERS,
    NAME,
    PAST,
    PATH,
    SIZE,
    TOKENS,
    instant_of,
)
from artifactctl.domain.errors import UsageError

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize("name", ["hs", "scratch/hs/run-1", "größe", "n" * 255, "a b"])
def test_a_name_may_hold_slashes_blanks_and_any_letters(name):
    assert NAME.convert(name, None, None) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("n" * 256, "at most 255"),
        ("a\nb", "control character"),
        ("a\x7fb", "control character"),
        ("a:b", "role"),
        ("-rf", "option"),
        ("\udcff", "not UTF-8"),
    ],
    ids=["empty", "too long", "newline", "delete", "colon", "dash", "not utf-8"],
)
def test_a_name_that_cannot_be_one_is_refused_with_the_reason(name, why):
    with pytest.raises(click.BadParameter, match=why):
        NAME.convert(name, None, None)


def test_a_path_is_absolute_bytes_and_is_not_resolved(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)

    assert PATH.convert("link/../link/x", None, None) == os.fsencode(tmp_path) + b"/link/x"
    assert PATH.convert(os.fsdecode(b"\xff"), None, None) == os.fsencode(tmp_path) + b"/\xff"


def test_a_word_with_control_characters_can_be_a_path_but_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.BadParameter, match="control character"):
        ARTIFACT.convert("a\nb", None, None)

    (tmp_path / "a\nb").mkdir()

    assert ARTIFACT.convert("a\nb", None, None) == "a\nb"
    assert ARTIFACT.convert("gone/a\x1bb", None, None) == "gone/a\x1bb"
    with pytest.raises(click.BadParameter, match="control character"):
        ARTIFACT.convert("/a\0b", None, None)


@pytest.mark.parametrize("parameter", [ARTIFACT, PATH])
def test_going_up_after_a_link_that_leads_elsewhere_is_refused_with_the_place_it_leads_to(
    parameter, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    monkeypatch.chdir(tmp_path / "data")

    for word in ("link/../old", f"{tmp_path}/data/link/../old"):
        with pytest.raises(click.BadParameter, match=f"leads to {tmp_path}/elsewhere/old;"):
            parameter.convert(word, None, None)
    for word in ("../data/old", "./old", "link/old", "..", "a..b", "nothing/../old"):
        parameter.convert(word, None, None)


@pytest.mark.parametrize("parameter", [ARTIFACT, PATH])
def test_an_empty_word_is_neither_a_name_nor_a_path(parameter):
    with pytest.raises(click.BadParameter, match="empty"):
        parameter.convert("", None, None)


@pytest.mark.parametrize(
    ("parameter", "text", "meant"),
    [
        (PAST, "7d", NOON - timedelta(days=7)),
        (FUTURE, "7d", NOON + timedelta(days=7)),
        (PAST, "2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        (FUTURE, "2026-12-01T10:30+02:00", datetime(2026, 12, 1, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_an_instant_or_a_duration_away_from_now(parameter, text, meant):
    assert instant_of(parameter.convert(text, None, None), now=NOON) == meant


@pytest.mark.parametrize("text", ["yesterday", "7", "2026-13-01"])
def test_what_is_no_time_says_what_would_be_one(text):
    with pytest.raises(click.BadParameter, match="2026-11-30T14:00Z"):
        PAST.convert(text, None, None)


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (SIZE, "924GiB", 924 * 2**30),
        (DURATION, "72h", timedelta(hours=72)),
        (TOKENS, "87.8M", 87_800_000),
        (LAYERS, "2,30,58", (2, 30, 58)),
    ],
    ids=["size", "duration", "tokens", "layers"],
)
def test_quantities_are_read_with_their_units(parameter, text, value):
    assert parameter.convert(text, None, None) == value


def test_a_size_without_a_unit_names_the_option_and_what_to_write():
    option = click.Option(["--need"], type=SIZE)

    with pytest.raises(UsageError) as refused:
        SIZE.convert("924", option, None)

    assert refused.value.message == "--need: the size `924` has no unit"
    assert "924GiB" in refused.value.remedy
