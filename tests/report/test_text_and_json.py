"""Values become text that a terminal can show and JSON that a script can read."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from artifactctl.domain.text import display_path, shell_word
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.report.evidence import evidence_lines, evidence_payload, refusal_lines
from artifactctl.report.json_values import dump, json_path, rfc3339
from artifactctl.report.tables import Table, columns, key_values, plain_lines


def test_json_carries_utf8_as_it_is_and_other_bytes_as_escapes_with_base64_beside():
    text = dump("x", {"a": json_path("/data/größe".encode()), "b": json_path(b"/data/\xff")})

    assert '"/data/größe"' in text
    assert '"/data/\\udcff"' in text
    text.encode("utf-8")
    assert json.loads(text)["b"] == {"path": "/data/\udcff", "path_b64": "L2RhdGEv/w=="}
    assert "path_b64" not in json.loads(text)["a"]


def test_instants_are_rfc3339_in_utc():
    assert rfc3339(datetime(2026, 11, 30, 14, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-30T12:00:00Z"
    with pytest.raises(ValueError, match="no time zone"):
        rfc3339(datetime(2026, 11, 30))  # noqa: DTZ001 - the point of the test


def test_a_duration_has_no_form_in_json_of_its_own():
    with pytest.raises(TypeError, match="_seconds"):
        dump("x", {"duration": timedelta(hours=1)})


@pytest.mark.parametrize(
    ("path", "shown", "word"),
    [
        (b"/data/hs", "/data/hs", "/data/hs"),
        (b"/data/a b", "/data/a b", "'/data/a b'"),
        (b"/data/\xff", "/data/\\xff", "$'/data/\\xff'"),
        (b"/data/\x1b[31m", "/data/\\x1b[31m", "$'/data/\\x1b[31m'"),
        (b"it's\n", "it's\\n", "$'it\\'s\\n'"),
    ],
)
def test_a_path_never_drives_the_terminal_and_can_be_pasted(path, shown, word):
    assert display_path(path) == shown
    assert shell_word(path) == word


def test_wide_letters_keep_columns_aligned():
    table = Table(columns=columns("name", ">n"), rows=(("日本", "1"), ("abcd", "22")))

    assert plain_lines(table) == ["name   n", "日本   1", "abcd  22"]


def test_an_empty_table_says_what_it_would_have_held():
    assert plain_lines(Table(columns=columns("name"), rows=(), empty="no holds")) == ["no holds"]


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="2 cells under 1 columns"):
        Table(columns=columns("name"), rows=(("a", "b"),))


def test_pairs_without_a_value_are_left_out():
    assert key_values([("kind", "model"), ("tokens", ""), ("id", "7")]) == "kind  model\nid    7"


FOUND = (
    Evidence(guard="confined", verdict=Verdict.CLEAR, reason="below /data"),
    Evidence(guard="not_held", verdict=Verdict.UNKNOWN, reason="3 processes hidden", remedy="run it with sudo"),
    Evidence(
        guard="no_hold", verdict=Verdict.BLOCKED, reason="held: paper", facts=(("hold", "4"),), remedy="release it"
    ),
    Evidence(guard="settled", verdict=Verdict.BLOCKED, reason="written 1 min ago", remedy="wait", waived=True),
)


def test_what_stands_in_the_way_comes_first_with_its_remedy():
    assert evidence_lines(FOUND) == [
        "  ✗ no_hold   held: paper",
        "              → release it",
        "  ? not_held  3 processes hidden",
        "              → run it with sudo",
        "  ✗ settled   written 1 min ago (waived)",
        "  ✓ confined  below /data",
    ]
    assert len(refusal_lines(FOUND)) == 4


def test_evidence_keeps_the_order_of_the_guards_in_json():
    assert [item["guard"] for item in evidence_payload(FOUND)] == ["confined", "not_held", "no_hold", "settled"]
    assert evidence_payload(FOUND)[2] == {
        "guard": "no_hold",
        "verdict": "blocked",
        "reason": "held: paper",
        "facts": [["hold", "4"]],
        "remedy": "release it",
        "waived": False,
    }
