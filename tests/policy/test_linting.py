"""What lint finds, and exactly where."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from artifactctl.domain.artifacts import ArtifactKind, RunState
from artifactctl.policy.facts import CatalogueView
from artifactctl.policy.findings import Code, Finding, Level
from artifactctl.policy.linting import SiteLimits, Surroundings
from artifactctl.policy.linting import lint as lint_read
from artifactctl.policy.reading import read_policy
from tests.builders import NOON
from tests.policy.worlds import facts, view
from tests.policy.written import DESIGN_EXAMPLE, policy_text

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
BESIDE_CATALOG = sorted((Path(__file__).parent / "beside_catalog").glob("*.yaml"))
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def lint(files: Sequence[tuple[str, str | bytes]], **arguments: Any) -> tuple[Finding, ...]:
    """Return what lint says of the files."""
    return lint_read(read_policy(files), **arguments)


def found(text: str, **arguments: Any) -> list[Finding]:
    """Return what lint says of one file called p.yaml."""
    return list(lint([("p.yaml", text)], now=NOW, **arguments))


def codes(text: str, **arguments: Any) -> list[str]:
    """Return `CODE LINE:COLUMN` of each finding."""
    return [f"{item.code} {item.place.line}:{item.place.column}" for item in found(text, **arguments)]


def test_there_are_broken_files_of_every_sort() -> None:
    assert len(BROKEN) >= 30


@pytest.mark.parametrize("file", BROKEN, ids=[file.stem for file in BROKEN])
def test_a_broken_file_gives_the_findings_that_its_first_line_expects(file: Path) -> None:
    content = file.read_bytes()
    expected = re.findall(r"AP\d{3} \d+:\d+", content.splitlines()[0].decode())

    findings = [item for item in lint([(file.name, content)], now=NOW) if item.code is not Code.UNTESTED]

    assert [f"{item.code} {item.place.line}:{item.place.column}" for item in findings] == expected
    assert expected


@pytest.mark.parametrize(
    ("sections", "like"),
    [
        ({"protect": "[{name: p, reason: long enough, match: {tags: released}}]"}, "`tags: {any: [released]}`"),
        ({"rules": "[{name: r, match: {kind: other}, keep: {last: 3}}]"}, "`last: {n: 2, group_by: [run]}`"),
        ({"rules": "[{name: r, match: {kind: other}, keep: {every: 5000}}]"}, "`every: {steps: 5000}`"),
        ({"tests": "[{name: t, now: 2026-11-30, given: [], expect: {old: quarantine}}]"}, "`old: {decision: keep}`"),
    ],
    ids=["tags", "last", "every", "an expectation"],
)
def test_a_value_where_a_mapping_belongs_is_shown_how_it_is_written(sections: dict[str, str], like: str) -> None:
    messages = [item.message for item in found(policy_text(**sections)) if item.code is Code.SCHEMA]

    assert any(message.endswith(f"must be a mapping of keys to values, such as {like}") for message in messages)


def test_the_example_of_the_design_has_warnings_only() -> None:
    findings = found(DESIGN_EXAMPLE)

    assert {item.level for item in findings} == {Level.WARNING}
    assert [(item.code, item.place.line) for item in findings] == [(Code.UNTESTED, 22), (Code.UNTESTED, 28)]


def test_a_missing_test_is_an_error_where_tests_are_required() -> None:
    text = policy_text(rules="[{name: r, match: {kind: other}}]")

    assert [item.level for item in found(text)] == [Level.WARNING]
    assert [item.level for item in found(text, require_tests=True)] == [Level.ERROR]


def test_a_rule_counts_as_tested_when_a_test_expects_something_it_decides() -> None:
    text = policy_text(
        protect="[{name: p, reason: long enough, match: {kind: model}}]",
        rules="[{name: r, match: {kind: other}}, {name: s, match: {kind: model}}]",
        tests="""
            - name: t
              now: 2026-11-30T00:00:00Z
              given:
                - {id: o, kind: other, age: 1d}
                - {id: m, kind: model, age: 1d}
              expect:
                o: {decision: quarantine}
                m: {decision: keep}
            """,
    )

    assert [item.message for item in found(text)] == [
        "the rule `s` has no test: nothing that a test expects is decided by it"
    ]


@pytest.mark.parametrize(
    ("expires", "says"),
    [("2026-12-13", "ends on 2026-12-13"), ("2026-11-29", "ended on 2026-11-29"), ("2026-12-14", None)],
)
def test_a_protect_that_ends_within_a_fortnight_is_told(expires: str, says: str | None) -> None:
    text = policy_text(protect=f"[{{name: p, reason: long enough, match: {{kind: model}}, expires: {expires}}}]")

    told = [item for item in found(text) if item.code is Code.EXPIRES]

    assert [says in item.message for item in told if says] == [True] * len(told)
    assert bool(told) is (says is not None)


@pytest.mark.parametrize(
    ("match", "rest", "key"),
    [
        ("older_than: 2d, newer_than: 2d", "", "newer_than"),
        ("larger_than: 2GiB, smaller_than: 1GiB", "", "smaller_than"),
        ("successor_verified: true, superseded: false", "", "superseded"),
        ("pinned: true", "", "pinned"),
        ("complete: false", "", "complete"),
        ("newer_than: 3d", "keep: {newer_than: 3d}", "newer_than"),
        ("rebuildable: false", "require: {rebuildable: true}", "rebuildable"),
        ("verified: false", "require: {min_copies: 1}", "verified"),
    ],
)
def test_a_rule_that_can_offer_nothing_is_an_error_at_the_key(match: str, rest: str, key: str) -> None:
    text = policy_text(rules=f"- name: r\n  match: {{{match}}}\n  {rest}\n")
    line = text.splitlines()[5]

    assert line.lstrip().startswith("match")
    assert f"AP010 6:{line.index(key) + 1}" in codes(text)


def test_a_rule_younger_than_the_minimum_age_offers_nothing() -> None:
    text = policy_text(defaults="{min_age: 24h}", rules="[{name: r, match: {newer_than: 12h}}]")

    assert "the rule `r` offers nothing: nothing younger than 1d is ever offered (defaults.min_age)" in [
        item.message for item in found(text)
    ]


def test_a_rule_of_another_file_can_take_everything_before() -> None:
    wide = policy_text(rules="[{name: wide, match: {kind: [checkpoint, other]}}]")
    narrow = policy_text(rules="[{name: narrow, match: {kind: other, older_than: 3d}}]")

    first, second = (lint(files, now=NOW) for files in ([("a", wide), ("b", narrow)], [("b", wide), ("a", narrow)]))

    assert [str(item.place) for item in first if item.code is Code.UNREACHABLE] == ["b:4:10"]
    assert [item for item in second if item.code is Code.UNREACHABLE] == []


def test_limits_looser_than_the_site_allows_are_an_error_at_the_key() -> None:
    site = Surroundings(site=SiteLimits(max_bytes=1 << 39, max_artifacts=100))

    assert codes(policy_text(), surroundings=site) == ["AP021 3:10"]
    assert codes(policy_text(), surroundings=Surroundings(site=SiteLimits(max_bytes=1 << 40))) == []


@pytest.mark.parametrize("file", BESIDE_CATALOG, ids=[file.stem for file in BESIDE_CATALOG])
def test_a_file_that_looks_wrong_beside_the_catalog_gives_the_findings_that_its_first_line_expects(file: Path) -> None:
    catalog = view(
        facts(1, run="r1", step=100, labels=(("of", "a"),), metrics=(("eval/loss", 1.0),)),
        facts(2, run="r1", step=200, labels=(("of", "b"),), metrics=(("eval/loss", 2.0),)),
        facts(3, kind=ArtifactKind.HIDDEN_STATES, run=""),
        facts(4, kind=ArtifactKind.HIDDEN_STATES, run="", labels=(("corpus", "c1"),)),
        facts(5, kind=ArtifactKind.DRAFT_MODEL, run="", path="", root=""),
    )
    content = file.read_bytes()
    expected = re.findall(r"AP\d{3} \d+:\d+", content.splitlines()[0].decode())

    findings = lint([(file.name, content)], now=NOON, surroundings=Surroundings(view=catalog))

    told = [f"{item.code} {item.place.line}:{item.place.column}" for item in findings if item.code != Code.UNTESTED]
    assert told == expected
    assert expected


def test_a_condition_that_is_known_of_one_artifact_is_not_told() -> None:
    text = policy_text(rules="[{name: r, match: {kind: hidden_states, producer.state: succeeded}}]")
    unknown = facts(1, kind=ArtifactKind.HIDDEN_STATES)
    failed = facts(2, kind=ArtifactKind.HIDDEN_STATES, run_state=RunState.FAILED)

    told = [
        found(text, surroundings=Surroundings(view=view(*artifacts))) for artifacts in ((unknown,), (unknown, failed))
    ]

    assert [[item.code for item in each if item.code is not Code.UNTESTED] for each in told] == [
        [Code.UNKNOWN_THROUGHOUT],
        [],
    ]
    assert [item.message for item in told[0] if item.code is not Code.UNTESTED] == [
        "`producer.state` is unknown of every artifact (1) that the rule `r` otherwise matches: unknown keeps, and no "
        "later rule is asked"
    ]


CATALOGUE = """
- name: last
  match: {kind: checkpoint}
  keep:
    last: {n: 1, group_by: [run]}
    best: {n: 1, metric: eval/loss, mode: min, group_by: [run]}
- name: none
  match: {kind: model}
"""


def seen(*artifacts: CatalogueView) -> list[str]:
    """Return the codes of what lint finds in CATALOGUE next to these artifacts, missing tests left out."""
    text = policy_text(
        protect="[{name: p, reason: long enough, match: {kind: [checkpoint, draft_model], tags: {any: [realesed]}}}]",
        rules=CATALOGUE,
    )
    findings = lint([("p.yaml", text)], now=NOON, surroundings=Surroundings(view=view(*artifacts)))
    return [f"{item.code} {item.place.line}:{item.place.column}" for item in findings if item.code != "AP030"]


def test_next_to_the_catalog_idle_entries_lone_groups_and_absent_metrics_are_told() -> None:
    assert seen(facts(1, run="r1"), facts(2, run="r2")) == ["AP011 4:12", "AP012 9:20", "AP013 10:20", "AP011 11:5"]


def test_next_to_a_catalog_in_which_all_of_it_occurs_nothing_is_told() -> None:
    measured = {"run": "r1", "metrics": (("eval/loss", 1.0),)}

    assert (
        seen(
            facts(1, **measured),
            facts(2, **measured),
            facts(3, kind=ArtifactKind.MODEL),
            facts(4, kind=ArtifactKind.DRAFT_MODEL, labels=(("tags", "realesed"),)),
        )
        == []
    )


def test_a_quarantine_shorter_than_the_slowest_restore_of_late_is_told() -> None:
    text = policy_text(defaults="{quarantine: 3d}")

    assert codes(text, surroundings=Surroundings(slowest_restore=timedelta(days=8))) == ["AP050 4:12"]
    assert codes(text, surroundings=Surroundings(slowest_restore=timedelta(days=3))) == []
