"""How the tests inside policy files went."""

from collections.abc import Iterator, Sequence
from typing import Any

from artifactctl.policy.testing import Mismatch, TestOutcome, decision_word, spell
from artifactctl.report.sizes import counted


def outcome_lines(outcomes: Sequence[TestOutcome]) -> Iterator[str]:
    """Yield a line for each test, and under one that failed what was expected, what came out, and why."""
    for outcome in outcomes:
        yield f"{'pass' if outcome.passed else 'FAIL'}  {outcome.place}: {outcome.name}"
        for mismatch in outcome.mismatches:
            decided = mismatch.decided
            came = spell(decision_word(decided), decided.because, decided.rule)
            yield f"      {mismatch.artifact}: expected {mismatch.wanted}"
            yield f"      {' ' * len(mismatch.artifact)}  came out {came}"
            yield f"      {' ' * len(mismatch.artifact)}  ({decided.sentence})"
    failed = sum(not outcome.passed for outcome in outcomes)
    yield f"{counted(len(outcomes), 'test')}: {len(outcomes) - failed} passed, {failed} failed"


def outcomes_payload(outcomes: Sequence[TestOutcome]) -> dict[str, Any]:
    """Return the answer of `policy test` for scripts."""
    return {
        "ok": all(outcome.passed for outcome in outcomes),
        "tests": [
            {
                "name": outcome.name,
                "file": outcome.place.file,
                "line": outcome.place.line,
                "column": outcome.place.column,
                "passed": outcome.passed,
                "mismatches": [_mismatch(mismatch) for mismatch in outcome.mismatches],
            }
            for outcome in outcomes
        ],
    }


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    decided = mismatch.decided
    return {
        "artifact": mismatch.artifact,
        "line": mismatch.place.line,
        "column": mismatch.place.column,
        "expected": mismatch.wanted,
        "decision": decision_word(decided),
        "because": decided.because,
        "rule": decided.rule,
        "sentence": decided.sentence,
    }
