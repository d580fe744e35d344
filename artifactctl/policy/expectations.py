"""What tests inside policy files say of things that are not there."""

from collections.abc import Iterator

from artifactctl.domain.suggestions import did_you_mean
from artifactctl.policy.documents import Path
from artifactctl.policy.findings import Code, Finding, finding
from artifactctl.policy.fixtures import TestEntry
from artifactctl.policy.protecting import BUILTINS
from artifactctl.policy.reading import PolicyFile, PolicyFiles
from artifactctl.policy.ruleset import Policy

_WORDS = (
    *(decision.because for decision, _ in BUILTINS),
    "defaults.min_age",
    "keep.last",
    "keep.best",
    "keep.every",
    "keep.newer_than",
    "keep.needed_by",
    "require.successor",
    "require.rebuildable",
    "require.min_copies",
    "empty_group",
    "match_unknown",
    "no_rule",
)


def expectation_findings(files: PolicyFiles, policy: Policy) -> Iterator[Finding]:
    """Yield a finding for every artifact, reason or rule in a test that does not exist, and for ids given twice."""
    for file in files.files:
        for index, test in enumerate(file.written.tests if file.written else ()):
            yield from _given_twice(file, test, ("tests", index))
            yield from _expected(file, test, ("tests", index), policy)


def because_words(policy: Policy) -> tuple[str, ...]:
    """Return every word for a reason that this policy can give."""
    protects = (f"protect.{protect.name}" for protect in policy.protects)
    return (*_WORDS, *protects, *(f"rule.{rule.name}" for rule in policy.rules))


def _given_twice(file: PolicyFile, test: TestEntry, path: Path) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, given in enumerate(test.given):
        if given.id in seen:
            place = file.document.place((*path, "given", number, "id"))
            yield finding(place, Code.FIXTURE, f"the id `{given.id}` is given twice in this test")
        seen.add(given.id)


def _expected(file: PolicyFile, test: TestEntry, path: Path, policy: Policy) -> Iterator[Finding]:
    ids = [given.id for given in test.given]
    words, rules = because_words(policy), [rule.name for rule in policy.rules]
    for key, expected in test.expect.items():
        here = (*path, "expect", key)
        if key not in ids:
            message = f"`{key}` is not among what this test gives; {did_you_mean(key, ids)}"
            yield finding(file.document.place(here), Code.FIXTURE, message)
        if expected.because is not None and expected.because not in words:
            message = f"nothing is decided because of `{expected.because}`; {did_you_mean(expected.because, words)}"
            yield finding(file.document.place((*here, "because")), Code.FIXTURE, message)
        if expected.rule is not None and expected.rule not in rules:
            message = f"there is no rule `{expected.rule}`; {did_you_mean(expected.rule, rules)}"
            yield finding(file.document.place((*here, "rule")), Code.FIXTURE, message)
