"""When one matcher takes everything that another one matches."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given

from artifactctl.policy.decisions import Holds
from artifactctl.policy.facts import CatalogueView
from artifactctl.policy.matching import matches
from artifactctl.policy.patterns import matcher_of
from artifactctl.policy.reachability import covers, pattern_covers
from artifactctl.policy.ruleset import Matcher
from tests.builders import NOON
from tests.policy.worlds import matchers, views


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("**", "a/*"),
        ("prod/*", "prod/x"),
        ("prod/*", "prod/x*"),
        ("prod/**", "prod/*/x"),
        ("*", "?"),
        ("a?", "ab"),
        ("a?c", "a?c"),
    ],
)
def test_a_pattern_that_takes_all_of_another(wide: str, narrow: str) -> None:
    assert pattern_covers(wide, narrow)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("prod/*", "prod/**"), ("prod/*", "**"), ("a?", "a*"), ("*/*", "**"), ("?", "**"), ("ab", "a?"), ("a*b", "a*")],
)
def test_a_pattern_that_may_leave_something_of_another(wide: str, narrow: str) -> None:
    assert not pattern_covers(wide, narrow)


def test_what_fits_the_narrow_pattern_always_fits_the_wide_one() -> None:
    patterns = ["".join(signs) for length in (1, 2, 3) for signs in product("a/*?", repeat=length)]
    texts = ["".join(signs) for length in range(5) for signs in product("ab/", repeat=length)]
    fitting = {pattern: {text for text in texts if matcher_of(pattern)(text)} for pattern in patterns}
    pairs = [pair for pair in product(patterns, repeat=2) if pattern_covers(*pair)]

    assert len(pairs) > len(patterns)
    assert [(wide, narrow) for wide, narrow in pairs if not fitting[narrow] <= fitting[wide]] == []


@given(matchers, matchers, views())
def test_what_the_covered_matcher_matches_the_wide_one_matches(
    wide: Matcher, narrow: Matcher, view: CatalogueView
) -> None:
    for candidate in (narrow, _both(wide, narrow)):
        if covers(wide, candidate):
            for facts in view.artifacts:
                if matches(candidate, facts, now=NOON) is Holds.YES:
                    assert matches(wide, facts, now=NOON) is Holds.YES


@given(matchers)
def test_a_matcher_covers_itself_and_what_asks_for_more(matcher: Matcher) -> None:
    assert covers(matcher, matcher)
    assert covers(matcher, replace(matcher, larger_than_bytes=5, smaller_than_bytes=9))
    assert covers(Matcher(), matcher)


def test_a_bound_covers_the_stricter_one_only() -> None:
    assert covers(Matcher(older_than=timedelta(days=1)), Matcher(older_than=timedelta(days=2)))
    assert not covers(Matcher(older_than=timedelta(days=2)), Matcher(older_than=timedelta(days=1)))
    assert covers(Matcher(superseded=True), Matcher(successor_verified=True))
    assert covers(Matcher(any_tag=("a", "b")), Matcher(all_tags=("a", "c")))
    assert not covers(Matcher(all_tags=("a", "b")), Matcher(any_tag=("a", "b")))
    assert not covers(Matcher(labels=(("team", ("a",)),)), Matcher())


def _both(one: Matcher, other: Matcher) -> Matcher:
    """Return a matcher that asks what `one` asks, and of the rest what `other` asks."""
    asked = {name: getattr(one, name) for name in Matcher.__slots__ if getattr(one, name) not in (None, ())}
    return replace(other, **asked)
