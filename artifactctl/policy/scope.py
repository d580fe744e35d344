"""Which artifacts policies may have anything to say about, as far as a database can tell.

It can tell by kind, name, creation, whether a successor is recorded and whether anything is that they were made from.

A scope is wider than what matches, never narrower: patterns are tested again where rules are, and a minimum age is no
part of it, since what is too young still takes its place in its group.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.grouping import OF_A_RUN
from artifactctl.policy.protecting import has_expired
from artifactctl.policy.ruleset import Matcher, Policy
from artifactctl.policy.ruling import groupings_of

_PATTERN = re.compile(r"[*?]")
STEP = "step"
"""The metric that says how far a checkpoint's training had come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What must all hold: one of `kinds`, one of `names` or beginning with one of `prefixes`, created in between.

    `superseded`: a successor is recorded; `has_inputs`: something is that it was made from. Empty, None and False ask
    nothing.
    """

    kinds: tuple[ArtifactKind, ...] = ()
    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    created_after: datetime | None = None
    created_until: datetime | None = None
    superseded: bool = False
    has_inputs: bool = False

    @property
    def is_broad(self) -> bool:
        """Whether kinds and ages alone narrow it: much of a catalog may be in it."""
        return not (self.names or self.prefixes or self.superseded or self.has_inputs)


EVERYTHING = (Wanted(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Of which artifacts facts beside their own row are asked for; what is not is not read, and looks unknown.

    `metric_names` of those in `metrics`, None for all of them; a step is a metric. `paths`: whether anybody asks where
    things lie.
    """

    metrics: tuple[Wanted, ...] = EVERYTHING
    metric_names: frozenset[str] | None = None
    children: tuple[Wanted, ...] = EVERYTHING
    inputs: tuple[Wanted, ...] = EVERYTHING
    runs: tuple[Wanted, ...] = EVERYTHING
    paths: bool = True


EVERY_FACT = Needed()


def needed_by(policies: Iterable[Policy], *, now: datetime, until: datetime) -> Needed:
    """Return what any rule or protect of the policies asks for at any instant from `now` to `until`.

    A rule's reasons to keep are asked about what its conditions match, so what it asks for is read of that alone.
    """
    every = tuple(policies)
    rules = [rule for policy in every for rule in policy.rules]
    asking = [*(rule.match for rule in rules), *(protect.match for policy in every for protect in policy.protects)]

    def of(matchers: Iterable[Matcher]) -> tuple[Wanted, ...]:
        return tuple(dict.fromkeys(_wanted(matcher, now, until) for matcher in matchers))

    ranked = [rule.match for rule in rules if rule.keep.last or rule.keep.best or rule.keep.every]
    of_runs = [rule.match for rule in rules if any(OF_A_RUN[0] in grouping for grouping in groupings_of(rule))]
    rebuilt = [rule.match for rule in rules if rule.require.rebuildable]
    return Needed(
        metrics=of(ranked),
        metric_names=frozenset({STEP} | {rule.keep.best.metric for rule in rules if rule.keep.best}),
        children=of(rule.match for rule in rules if rule.keep.needed_by or rule.require.successor),
        inputs=of([*rebuilt, *(each for each in asking if each.rebuildable is not None)]),
        runs=of([*of_runs, *(each for each in asking if each.producer_states)]),
        paths=any(each.paths for each in asking)
        or any("folder" in grouping for rule in rules for grouping in groupings_of(rule)),
    )


def scope_of(policies: Iterable[Policy], *, now: datetime, until: datetime) -> tuple[Wanted, ...]:
    """Return what any protect or rule may match at any instant from `now` to `until`; () when there are none."""
    matchers = dict.fromkeys(matcher for policy in policies for matcher in _matchers(policy, now))
    return tuple(dict.fromkeys(_wanted(matcher, now, until) for matcher in matchers))


def _matchers(policy: Policy, now: datetime) -> Iterator[Matcher]:
    yield from (protect.match for protect in policy.protects if not has_expired(protect, now))
    yield from (rule.match for rule in policy.rules)


def _wanted(matcher: Matcher, now: datetime, until: datetime) -> Wanted:
    prefixes = [pattern[: found.start()] for pattern in matcher.names if (found := _PATTERN.search(pattern))]
    begins_anyhow = "" in prefixes
    return Wanted(
        kinds=tuple(sorted(set(matcher.kinds))),
        names=() if begins_anyhow else tuple(name for name in matcher.names if not _PATTERN.search(name)),
        prefixes=() if begins_anyhow else tuple(sorted(set(prefixes))),
        created_after=None if matcher.newer_than is None else now - matcher.newer_than,
        created_until=None if matcher.older_than is None else until - matcher.older_than,
        superseded=matcher.superseded is True or matcher.successor_verified is True,
        has_inputs=matcher.rebuildable is True,
    )
