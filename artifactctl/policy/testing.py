"""Runs the tests inside policy files: what they give, at their instant, against everything the files say together."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from artifactctl.policy.decisions import Decision
from artifactctl.policy.evaluating import evaluate
from artifactctl.policy.expectations import expectation_findings
from artifactctl.policy.findings import PolicyUnusable
from artifactctl.policy.fixtures import KEEP, Expected, TestEntry
from artifactctl.policy.given import ids_of, view_of
from artifactctl.policy.reading import PolicyFiles, read_policy, usable
from artifactctl.policy.ruleset import Place, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One artifact that came out otherwise: what the test wants of it, and what was decided."""

    artifact: str
    place: Place
    wanted: str
    decided: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """One test as it went; `decided` has the decision about everything the test expects something of."""

    __test__ = False  # pytest must not take it for one of its own

    name: str
    place: Place
    decided: Mapping[str, Decision]
    mismatches: tuple[Mismatch, ...]

    @property
    def passed(self) -> bool:
        """Whether everything came out as expected."""
        return not self.mismatches


def checked_policy(files: Sequence[tuple[str, str | bytes]]) -> tuple[PolicyFiles, Policy]:
    """Return the files as read and what they mean; PolicyUnusable lists what is wrong with them or with their tests."""
    read = read_policy(files)
    policy = usable(read)
    wrong = tuple(expectation_findings(read, policy))
    if wrong:
        raise PolicyUnusable(wrong)
    return read, policy


def run_tests(files: PolicyFiles, policy: Policy, *, only: re.Pattern[str] | None = None) -> tuple[TestOutcome, ...]:
    """Return the outcome of every test in the files whose name `only` finds, in file order."""
    return tuple(
        _run(test, policy, place)
        for test, place in tests_of(files)
        if only is None or only.search(test.name) is not None
    )


def tests_of(files: PolicyFiles) -> Iterator[tuple[TestEntry, Mapping[str, Place]]]:
    """Yield every test with its places: "" for its name, else by the id that it expects something of."""
    for file in files.files:
        for index, test in enumerate(file.written.tests if file.written else ()):
            places = {key: file.document.place(("tests", index, "expect", key)) for key in test.expect}
            yield test, {"": file.document.place(("tests", index, "name")), **places}


def spell(decision: str, because: str | None, rule: str | None) -> str:
    """Return `keep because keep.best, rule checkpoints`."""
    parts = [decision, f"because {because}" if because else ""]
    return " ".join(filter(None, parts)) + (f", rule {rule}" if rule else "")


def _run(test: TestEntry, policy: Policy, places: Mapping[str, Place]) -> TestOutcome:
    decisions = evaluate(policy, view_of(test), now=test.now).decisions
    ids = ids_of(test)
    decided = {key: decisions[ids[key]] for key in test.expect}
    mismatches = tuple(
        Mismatch(
            artifact=key,
            place=places[key],
            wanted=spell(expected.decision, expected.because, expected.rule),
            decided=decided[key],
        )
        for key, expected in test.expect.items()
        if not _fits(expected, decided[key])
    )
    return TestOutcome(name=test.name, place=places[""], decided=decided, mismatches=mismatches)


def _fits(expected: Expected, decided: Decision) -> bool:
    return (
        expected.decision == decision_word(decided)
        and expected.because in (None, decided.because)
        and expected.rule in (None, decided.rule)
    )


def decision_word(decided: Decision) -> str:
    """Return `keep` or the action."""
    return decided.action.value if decided.action else KEEP
