"""Everything that is wrong, or looks wrong, with policy files: the catalogue of `findings.py`, applied."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from artifactctl.policy.catalogue_lint import catalogue_findings
from artifactctl.policy.expectations import expectation_findings
from artifactctl.policy.facts import CatalogueView
from artifactctl.policy.findings import Code, Finding, Level, finding, in_order
from artifactctl.policy.reachability import contradictions, never_offered, shadowing
from artifactctl.policy.reading import EntryPlaces, PolicyFiles, places_of
from artifactctl.policy.ruleset import Policy
from artifactctl.policy.spelling import size_text
from artifactctl.policy.testing import run_tests

EXPIRES_SOON = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLimits:
    """What the configuration allows at most; None: whatever the policy says."""

    max_bytes: int | None = None
    max_artifacts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a policy can be held against beside itself: the site's limits, the catalog, how long restores took."""

    site: SiteLimits = SiteLimits()
    view: CatalogueView | None = None
    slowest_restore: timedelta | None = None


NOTHING_KNOWN = Surroundings()


def lint(
    read: PolicyFiles,
    *,
    now: datetime,
    require_tests: bool = False,
    surroundings: Surroundings = NOTHING_KNOWN,
) -> tuple[Finding, ...]:
    """Return all findings by file, line and column. Where a file cannot be followed, only what hinders that."""
    if read.policy is None:
        return read.findings
    found = [*read.findings, *_site_findings(read, surroundings.site), *_expiry_findings(read, now)]
    found += _reach_findings(read, read.policy)
    wrong_tests = list(expectation_findings(read, read.policy))
    found += wrong_tests or _untested(read, read.policy, Level.ERROR if require_tests else Level.WARNING)
    found += catalogue_findings(read, read.policy, surroundings.view, surroundings.slowest_restore, now=now)
    return in_order(found)


def _site_findings(read: PolicyFiles, site: SiteLimits) -> Iterator[Finding]:
    for file in read.files:
        if file.written is None:
            continue
        limits = file.written.limits
        for key, said, allowed, spell in (
            ("max_bytes", limits.max_bytes, site.max_bytes, size_text),
            ("max_artifacts", limits.max_artifacts, site.max_artifacts, str),
        ):
            if allowed is not None and said > allowed:
                message = f"`{key}` is looser than the {spell(allowed)} that [policy] in artifactctl.toml allows here"
                yield finding(file.document.place(("limits", key)), Code.LIMITS, message)


def _expiry_findings(read: PolicyFiles, now: datetime) -> Iterator[Finding]:
    for file in read.files:
        for index, entry in enumerate(file.written.protect if file.written else ()):
            if entry.expires is None or entry.expires - now >= EXPIRES_SOON:
                continue
            ends = "ended" if entry.expires <= now else "ends"
            message = f"the protect `{entry.name}` {ends} on {entry.expires:%Y-%m-%d}; renew it or remove it"
            yield finding(file.document.place(("protect", index, "expires")), Code.EXPIRES, message)


def _reach_findings(read: PolicyFiles, policy: Policy) -> Iterator[Finding]:
    for entry, protect in zip(places_of(read, "protect"), policy.protects, strict=True):
        for key, message in contradictions(protect.match):
            yield _unreachable(entry, key, f"the protect `{protect.name}` protects", message)
    for entry, rule in zip(places_of(read, "rules"), policy.rules, strict=True):
        for key, message in (*contradictions(rule.match), *never_offered(rule, min_age=policy.min_age)):
            yield _unreachable(entry, key, f"the rule `{rule.name}` offers", message)
    places = {rule.name: entry.name for entry, rule in zip(places_of(read, "rules"), policy.rules, strict=True)}
    for rule, earlier in shadowing(policy.rules):
        before = f"`{earlier.name}` ({places[earlier.name]}) matches all of it before"
        yield finding(places[rule.name], Code.UNREACHABLE, f"the rule `{rule.name}` never decides: {before}")


def _unreachable(entry: EntryPlaces, key: str, subject: str, message: str) -> Finding:
    return finding(entry.of("match", key), Code.UNREACHABLE, f"{subject} nothing: {message}")


def _untested(read: PolicyFiles, policy: Policy, level: Level) -> Iterator[Finding]:
    decided = [decision for outcome in run_tests(read, policy) for decision in outcome.decided.values()]
    reasons, rules = {decision.because for decision in decided}, {decision.rule for decision in decided}
    for entry, protect in zip(places_of(read, "protect"), policy.protects, strict=True):
        if f"protect.{protect.name}" not in reasons:
            message = f"the protect `{protect.name}` has no test: nothing that a test expects is protected by it"
            yield replace(finding(entry.name, Code.UNTESTED, message), level=level)
    for entry, rule in zip(places_of(read, "rules"), policy.rules, strict=True):
        if rule.name not in rules:
            message = f"the rule `{rule.name}` has no test: nothing that a test expects is decided by it"
            yield replace(finding(entry.name, Code.UNTESTED, message), level=level)
