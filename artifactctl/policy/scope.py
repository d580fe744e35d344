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
from artifactctl.policy.protecting import has_expired
from artifactctl.policy.ruleset import Matcher, Policy

_PATTERN = re.compile(r"[*?]")


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
