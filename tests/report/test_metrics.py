"""The figures for Prometheus: read back with the grammar of the text format."""

import re
from datetime import timedelta

import pytest

from artifactctl.report.metrics import exposition, metrics_of
from tests.report.an_overview import GIB, HOSTILE, NOON, a_share, an_account, an_entry, an_overview

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"(artifactctl_[a-z_]+)(?:\{{((?:{LABEL},)*{LABEL})\}})? ([0-9.e+-]+)")


def text_of(overview):
    return exposition(metrics_of(overview, version="1.2.3"))


def samples(overview):
    """Return {(name, labels as written): value}; a line that is no sample fails."""
    found = {}
    for line in text_of(overview).splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            found[name, labels or ""] = float(value)
    return found


def test_bytes_are_told_by_kind_state_and_root():
    found = samples(an_overview())

    assert found["artifactctl_bytes", 'kind="hidden_states",state="live",root="data"'] == 924 * GIB
    assert found["artifactctl_artifacts", 'kind="hidden_states",state="live",root="data"'] == 2


@pytest.mark.parametrize(
    ("figure", "expected"),
    [("available", 2000), ("reserved", 500), ("quarantined", 100), ("unaccounted", 400), ("size", 4000)],
)
def test_each_figure_of_a_volume_is_a_gauge(figure, expected):
    assert (
        samples(an_overview())[f"artifactctl_volume_{figure}_bytes", 'host="node-1",volume="data",mount="/data"']
        == expected * GIB
    )


def test_the_age_of_the_oldest_quarantine_is_in_seconds():
    found = samples(an_overview(quarantined=(an_entry(), an_entry(since=NOON - timedelta(days=3)))))

    assert found["artifactctl_quarantine_oldest_age_seconds", ""] == 3 * 86_400


def test_an_empty_quarantine_is_zero_seconds_old():
    assert samples(an_overview(quarantined=()))["artifactctl_quarantine_oldest_age_seconds", ""] == 0


def test_only_what_is_past_its_grace_counts_as_expired():
    entries = (
        an_entry(grace_until=NOON, allocated_bytes=1),
        an_entry(grace_until=NOON + timedelta(seconds=1), allocated_bytes=10),
        an_entry(grace_until=None, allocated_bytes=100),
    )

    assert samples(an_overview(quarantined=entries))["artifactctl_quarantine_expired_bytes", ""] == 1


def test_an_act_that_was_only_begun_is_no_success():
    acts = [labels for name, labels in samples(an_overview()) if name.startswith("artifactctl_last_success")]

    assert acts == ['action="quarantine.done"']


def test_every_family_has_one_help_and_one_type_line_before_its_samples():
    seen = []
    for line in text_of(an_overview()).splitlines():
        name = line.split(" ")[2] if line.startswith("#") else re.split("[{ ]", line)[0]
        if not seen or seen[-1][0] != name:
            seen.append((name, []))
        seen[-1][1].append(line.split(" ")[1] if line.startswith("#") else "sample")

    assert len(seen) == len({name for name, _ in seen})
    assert all(kinds[:2] == ["HELP", "TYPE"] and set(kinds[2:]) <= {"sample"} for _, kinds in seen)


def test_no_sample_carries_a_timestamp():
    assert all(
        len(line.rsplit("}", 1)[-1].split()) <= 2 for line in text_of(an_overview()).splitlines() if line[0] != "#"
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('a"b', r"a\"b"),
        ("a\\b", r"a\\b"),
        ("a\nb", r"a\nb"),
        (HOSTILE, HOSTILE.replace('"', r"\"")),
        ("größe", "größe"),
        ("a\udcffb", r"a\\udcffb"),
    ],
    ids=["quote", "backslash", "line end", "markup", "letters", "a byte that is not UTF-8"],
)
def test_a_label_cannot_break_out_of_its_quotes(name, written):
    text = text_of(an_overview(shares=(a_share(root=name),)))

    assert f'state="live",root="{written}"}}' in text
    text.encode("utf-8")


def test_a_mount_that_is_not_utf8_is_written_as_an_escape():
    text = text_of(an_overview(volumes=(an_account(mount=b"/mnt/\xff"),)))

    assert r'mount="/mnt/\\xff"' in text


def test_the_same_overview_gives_the_same_text():
    assert text_of(an_overview()) == text_of(an_overview())
