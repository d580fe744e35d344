"""The shipped policies are free of findings, tested in every entry, and do what they promise: alone and together."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.configuration.policy_files import meaning_of, shipped_default, shipped_default_file
from artifactctl.policy.linting import lint
from artifactctl.policy.read_ahead import MEANING
from artifactctl.policy.reading import load_policy, read_policy
from artifactctl.policy.testing import checked_policy, run_tests
from tests.bench.sandbox import CHECKOUT
from tests.builders import NOON
from tests.policy.written import DESIGN_EXAMPLE

SHIPPED = sorted((CHECKOUT / "policies").glob("*.yaml"))
TOGETHER = [(file.name, file.read_bytes()) for file in SHIPPED]
SETS = [*([text] for text in TOGETHER), TOGETHER]
NAMES = [*(file.stem for file in SHIPPED), "together"]


def test_there_are_the_three_that_are_promised() -> None:
    assert [file.name for file in SHIPPED] == ["default.yaml", "eagle3.yaml", "scratch.yaml"]


@pytest.mark.parametrize("texts", SETS, ids=NAMES)
def test_lint_finds_nothing_even_where_tests_are_required(texts: list[tuple[str, bytes]]) -> None:
    assert lint(read_policy(texts), now=NOON, require_tests=True) == ()


@pytest.mark.parametrize("texts", SETS, ids=NAMES)
def test_their_own_tests_pass(texts: list[tuple[str, bytes]]) -> None:
    outcomes = run_tests(*checked_policy(texts))

    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) >= 2


def test_the_example_of_the_design_behaves_as_written() -> None:
    outcomes = run_tests(*checked_policy([("eagle3.yaml", DESIGN_EXAMPLE)]))

    assert [outcome.mismatches for outcome in outcomes] == [()]


@pytest.mark.parametrize("file", SHIPPED, ids=[file.stem for file in SHIPPED])
def test_each_says_in_plain_words_what_it_does(file: Path) -> None:
    comment = re.match(r"(#.*\n)+", file.read_text(encoding="utf-8"))

    assert comment is not None
    assert len(comment.group().split()) > 50


def test_the_default_locks_nobody_out() -> None:
    policy = shipped_default()

    assert policy.limits.approval_above_bytes is None
    assert policy.limits.approval_on_jump is None
    assert policy.limits.max_share_of_kind is None
    assert policy.min_age == timedelta(0)


def test_the_default_worked_out_ahead_is_what_reading_its_file_gives() -> None:
    read = load_policy([shipped_default_file()])

    assert repr(MEANING) == repr(read), "policies/default.yaml was changed: artifactctl/policy/read_ahead.py follows it"
    assert shipped_default() is MEANING, "SHA256 in artifactctl/policy/read_ahead.py is not that of the file"


def test_a_default_with_other_content_is_read() -> None:
    name, content = shipped_default_file()
    changed = content.replace(b"max_artifacts: 500", b"max_artifacts: 3")

    assert meaning_of([(name, changed)]).limits.max_artifacts == 3
    assert meaning_of([("mine.yaml", content)]).rules[0].place != MEANING.rules[0].place
