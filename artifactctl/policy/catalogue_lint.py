"""What looks wrong with a policy next to what the catalog really holds; warnings, since tomorrow it may hold more."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from artifactctl.policy.conditions import MAY_BE_UNKNOWN
from artifactctl.policy.decisions import Holds
from artifactctl.policy.evaluating import evaluate
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.findings import Code, Finding, finding
from artifactctl.policy.grouping import group_of, metric_of
from artifactctl.policy.matching import matching
from artifactctl.policy.reading import EntryPlaces, PolicyFiles, places_of
from artifactctl.policy.ruleset import Matcher, Policy, Protect, Rule
from artifactctl.policy.wording import spell_duration


def catalogue_findings(
    read: PolicyFiles,
    policy: Policy,
    view: CatalogueView | None,
    slowest_restore: timedelta | None,
    *,
    now: datetime,
) -> Iterator[Finding]:
    """Yield what the view and the restores of late say against the policy; nothing where neither is known."""
    if slowest_restore is not None and policy.grace < slowest_restore:
        yield _short_quarantine(read, policy.grace, slowest_restore)
    if view is None:
        return
    for entry, protect in zip(places_of(read, "protect"), policy.protects, strict=True):
        if not _matched(protect.match, view, now):
            yield _matches_nothing(entry, "protect", protect.name)
        yield from _unknown_conditions(entry, protect, view, now)
    decisions = evaluate(policy, view, now=now).decisions
    for entry, rule in zip(places_of(read, "rules"), policy.rules, strict=True):
        matched = _matched(rule.match, view, now)
        members = [facts for facts in view.artifacts if decisions[facts.artifact_id].rule == rule.name]
        if not matched:
            yield _matches_nothing(entry, "rule", rule.name)
            continue
        yield from _unknown_conditions(entry, rule, view, now)
        yield from _unknown_in_keep(entry, rule, matched)
        yield from _lone_groups(entry, rule, members)
        yield from _absent_metric(entry, rule, matched)


def _matched(matcher: Matcher, view: CatalogueView, now: datetime) -> list[Facts]:
    match = matching(matcher, now=now)
    return [facts for facts in view.artifacts if match.may_be(facts.kind) and match.answer(facts) is not Holds.NO]


def _matches_nothing(entry: EntryPlaces, what: str, name: str) -> Finding:
    message = f"the {what} `{name}` matches none of the artifacts in the catalog; is a word in it misspelt?"
    return finding(entry.name, Code.MATCHES_NOTHING, message)


def _unknown_conditions(
    entry: EntryPlaces, asking: Protect | Rule, view: CatalogueView, now: datetime
) -> Iterator[Finding]:
    """Yield the conditions that cannot be decided for any artifact which all the others would match."""
    conditions = matching(asking.match, now=now).conditions
    if not any(condition.reads in MAY_BE_UNKNOWN for condition in conditions):
        return
    outcomes = [tuple(condition.test(facts) for condition in conditions) for facts in view.artifacts]
    for place, condition in enumerate(conditions):
        asked = [each[place] for each in outcomes if False not in (*each[:place], *each[place + 1 :])]
        if asked and all(outcome is None for outcome in asked):
            what = "protect" if isinstance(asking, Protect) else "rule"
            then = "unknown protects" if isinstance(asking, Protect) else "unknown keeps, and no later rule is asked"
            message = (
                f"`{condition.field}` is unknown of every artifact ({len(asked):,}) that the {what} `{asking.name}` "
                f"otherwise matches: {then}"
            )
            yield finding(entry.of("match", condition.field), Code.UNKNOWN_THROUGHOUT, message)


def _unknown_in_keep(entry: EntryPlaces, rule: Rule, matched: list[Facts]) -> Iterator[Finding]:
    """Yield what the rule's reasons to keep ask for and no artifact that it matches has."""
    of_matched = f"is unknown of everything that `{rule.name}` matches, so all is kept"
    if rule.keep.every is not None and all(facts.step is None for facts in matched):
        yield finding(entry.of("keep", "every"), Code.UNKNOWN_THROUGHOUT, f"the step {of_matched}")
    for key, grouped in (("last", rule.keep.last), ("best", rule.keep.best)):
        for field in () if grouped is None else grouped.group_by:
            if all(group_of(facts, (field,)) == ("",) for facts in matched):
                message = f"`{field}` {of_matched}"
                yield finding(entry.of("keep", key, "group_by"), Code.UNKNOWN_THROUGHOUT, message)


def _lone_groups(entry: EntryPlaces, rule: Rule, members: list[Facts]) -> Iterator[Finding]:
    last = rule.keep.last
    if last is None or len(members) < 2:
        return
    sizes: Mapping[tuple[str, ...], int] = Counter(group_of(facts, last.group_by) for facts in members)
    if max(sizes.values()) == 1:
        groups = f"each of the {len(members)} artifacts is a group of its own by {', '.join(last.group_by)}"
        yield finding(entry.of("keep", "last", "group_by"), Code.LONE_GROUPS, f"{groups}, so `keep.last` keeps all")


def _absent_metric(entry: EntryPlaces, rule: Rule, matched: list[Facts]) -> Iterator[Finding]:
    best = rule.keep.best
    if best is not None and all(metric_of(facts, best.metric) is None for facts in matched):
        message = f"none of the {len(matched)} artifacts that `{rule.name}` matches has the metric `{best.metric}`"
        yield finding(entry.of("keep", "best", "metric"), Code.METRIC_ABSENT, f"{message}, so all are kept")


def _short_quarantine(read: PolicyFiles, grace: timedelta, slowest: timedelta) -> Finding:
    path = ("defaults", "quarantine")
    file = next((file for file in read.files if path in file.document.places), read.files[0])
    message = f"the quarantine lasts {spell_duration(grace)}; of late somebody restored after {spell_duration(slowest)}"
    return finding(file.document.place(path), Code.SHORT_QUARANTINE, message)
