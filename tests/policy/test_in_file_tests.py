"""Tests inside policy files: what they may say, and what comes of them."""

import re

import pytest

from artifactctl.policy.findings import PolicyUnusable
from artifactctl.policy.testing import TestOutcome, checked_policy, run_tests
from tests.policy.written import policy_text

RULES = "[{name: r, match: {kind: other}, keep: {newer_than: 3d}}]"


def outcomes(given: str, expect: str, *, only: str | None = None, **sections: str) -> tuple[TestOutcome, ...]:
    """Return how a file with one test goes."""
    tests = f"[{{name: the test, now: 2026-11-30T00:00:00Z, given: [{given}], expect: {expect}}}]"
    text = policy_text(**{"rules": RULES, **sections, "tests": tests})
    return run_tests(*checked_policy([("p.yaml", text)]), only=re.compile(only) if only else None)


def test_a_test_that_comes_out_otherwise_shows_what_was_wanted_and_the_sentence() -> None:
    (outcome,) = outcomes("{id: a, kind: other, age: 2d}", "{a: {decision: quarantine, because: rule.r}}")

    (mismatch,) = outcome.mismatches
    assert (mismatch.artifact, mismatch.wanted) == ("a", "quarantine because rule.r")
    assert mismatch.decided.because == "keep.newer_than"
    assert mismatch.decided.sentence.startswith("keep: 2d old")
    assert str(mismatch.place).startswith("p.yaml:5:")


@pytest.mark.parametrize(
    ("expected", "passes"),
    [
        ("{decision: keep}", True),
        ("{decision: keep, because: keep.newer_than}", True),
        ("{decision: keep, because: keep.newer_than, rule: r}", True),
        ("{decision: keep, because: no_rule}", False),
        ("{decision: archive}", False),
    ],
)
def test_decision_reason_and_rule_must_all_be_as_expected(expected: str, passes: bool) -> None:
    (outcome,) = outcomes("{id: a, kind: other, age: 2d}", f"{{a: {expected}}}")

    assert outcome.passed is passes


@pytest.mark.parametrize(
    ("fields", "because"),
    [
        ("", "rule.r"),
        ("pinned: true", "builtin.held"),
        ("leased: true", "builtin.leased"),
        ("complete: false", "builtin.incomplete"),
        ("live: false", "builtin.not_live"),
        ("input_of_unfinished_run: true", "builtin.unfinished_run"),
        ("copies: 2, verified_copies: 1", "require.min_copies"),
        ("copies: 1", "require.min_copies"),
    ],
)
def test_a_made_up_artifact_is_in_good_order_unless_it_says_otherwise(fields: str, because: str) -> None:
    rules = "[{name: r, match: {kind: other, complete: true, verified: true}, require: {min_copies: 1}}]"
    copies = "" if "copies" in fields else "copies: 2, "

    (outcome,) = outcomes(
        f"{{id: a, kind: other, age: 9d, {copies}{fields}}}",
        f"{{a: {{decision: keep, because: {because}}}}}",
        rules=rules,
    )

    assert outcome.decided["a"].because == because


def test_everything_a_matcher_asks_can_be_made_up() -> None:
    rules = """
        - name: r
          match:
            kind: hidden_states
            name: data/hs-*
            path: /data/**
            root: data
            labels: {corpus: [c1, c2]}
            tags: {any: [old, tmp/*], all: [tmp/x]}
            superseded: true
            successor_verified: true
            rebuildable: true
            producer.state: [succeeded, failed]
            older_than: 2d
            newer_than: 30d
            larger_than: 1GiB
            smaller_than: 1TiB
          require: {successor: {kind: checkpoint, relation: trained_on}}
        """
    given = (
        "{id: a, kind: hidden_states, name: data/hs-1, path: /data/x/hs-1, root: data, age: 9d, size: 2GiB,"
        " labels: {corpus: c2}, tags: [tmp/x], successor_verified: true, rebuildable: true, producer.state: failed,"
        " children: [{kind: checkpoint, relation: trained_on}]}"
    )

    (outcome,) = outcomes(given, "{a: {decision: quarantine, because: rule.r}}", rules=rules)

    assert outcome.mismatches == ()


def test_only_the_tests_whose_name_is_found_are_run() -> None:
    assert outcomes("{id: a, kind: other, age: 9d}", "{a: {decision: quarantine}}", only="^the") != ()
    assert outcomes("{id: a, kind: other, age: 9d}", "{a: {decision: quarantine}}", only="other") == ()


def test_a_test_that_expects_something_of_a_stranger_is_not_run() -> None:
    with pytest.raises(PolicyUnusable, match="AP031 `b` is not among"):
        outcomes("{id: a, kind: other, age: 9d}", "{b: {decision: keep}}")
