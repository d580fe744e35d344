"""Rules that can never offer anything: their conditions exclude each other, or an earlier rule takes all they match.

What is said here is always true; what is not said may still be so.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from artifactctl.policy.ruleset import Matcher, Rule
from artifactctl.policy.wording import spell_duration

_PART = re.compile(r"\*\*|\*|\?|[^*?]+")
_ANYTHING, _SEGMENT, _CHARACTER = "\x02", "\x01", "\x00"
_AS_TEXT = {"**": _ANYTHING, "*": _SEGMENT, "?": _CHARACTER}
_AS_PATTERN = {"**": ".*", "*": f"[^/{_ANYTHING}]*", "?": f"[^/{_SEGMENT}{_ANYTHING}]"}

Bound = TypeVar("Bound", int, timedelta)

Contradiction = tuple[str, str]
"""The key of `match` concerned, and what is wrong with it."""


def contradictions(match: Matcher) -> Iterator[Contradiction]:
    """Yield the conditions that exclude one another, in a rule or a protect."""
    older, newer = match.older_than, match.newer_than
    if older is not None and newer is not None and older >= newer:
        yield "newer_than", f"nothing is older than {spell_duration(older)} and newer than {spell_duration(newer)}"
    more, less = match.larger_than_bytes, match.smaller_than_bytes
    if more is not None and less is not None and more + 1 >= less:
        yield "smaller_than", "nothing is larger than the one and smaller than the other"
    if match.successor_verified and match.superseded is False:
        yield "superseded", "what is not superseded has no verified successor"


def never_offered(rule: Rule, *, min_age: timedelta) -> Iterator[Contradiction]:
    """Yield what in the rule's match keeps everything that it matches."""
    match = rule.match
    if match.pinned:
        yield "pinned", "what somebody holds is never offered"
    if match.complete is False:
        yield "complete", "what its writer has not finished is never offered"
    newer = match.newer_than
    if newer is not None and newer <= min_age:
        yield "newer_than", f"nothing younger than {spell_duration(min_age)} is ever offered (defaults.min_age)"
    if newer is not None and rule.keep.newer_than is not None and newer <= rule.keep.newer_than:
        yield "newer_than", f"`keep.newer_than: {spell_duration(rule.keep.newer_than)}` keeps all that is matched"
    if match.rebuildable is False and rule.require.rebuildable:
        yield "rebuildable", "the rule requires `rebuildable` and matches what is not"
    if match.verified is False and rule.require.min_copies > 0:
        yield "verified", f"the rule requires {rule.require.min_copies} verified copies and matches what has none"


def shadowing(rules: Sequence[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Yield (rule, earlier rule) where the earlier one matches everything that the rule matches."""
    for number, rule in enumerate(rules):
        earlier = next((other for other in rules[:number] if covers(other.match, rule.match)), None)
        if earlier is not None:
            yield rule, earlier


def covers(wide: Matcher, narrow: Matcher) -> bool:
    """Return whether all that `narrow` matches is certainly matched by `wide`."""
    return (
        _any_within(wide.kinds, narrow.kinds)
        and _any_within(wide.producer_states, narrow.producer_states)
        and _flags_agree(wide, narrow)
        and _at_least(wide.older_than, narrow.older_than)
        and _at_most(wide.newer_than, narrow.newer_than)
        and _at_least(wide.larger_than_bytes, narrow.larger_than_bytes)
        and _at_most(wide.smaller_than_bytes, narrow.smaller_than_bytes)
        and _words_within(wide, narrow)
        and _tags_within(wide, narrow)
    )


def pattern_covers(wide: str, narrow: str) -> bool:
    """Return whether every text that the pattern `narrow` fits certainly fits `wide`.

    The wildcards of `narrow` become signs of their own; what of `wide` takes them in takes in whatever they stand for.
    """
    text = "".join(_AS_TEXT.get(part, part) for part in _PART.findall(narrow))
    pattern = "".join(_AS_PATTERN.get(part) or re.escape(part) for part in _PART.findall(wide))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _any_within(wide: Sequence[StrEnum], narrow: Sequence[StrEnum]) -> bool:
    return not wide or (bool(narrow) and set(narrow) <= set(wide))


def _flags_agree(wide: Matcher, narrow: Matcher) -> bool:
    superseded = narrow.superseded if narrow.superseded is not None else narrow.successor_verified or None
    pairs = (
        (wide.pinned, narrow.pinned),
        (wide.superseded, superseded),
        (wide.successor_verified, narrow.successor_verified),
        (wide.rebuildable, narrow.rebuildable),
        (wide.complete, narrow.complete),
        (wide.verified, narrow.verified),
    )
    return all(asked is None or asked is had for asked, had in pairs)


def _patterns_within(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    if not wide:
        return True
    return bool(narrow) and all(any(pattern_covers(one, other) for one in wide) for other in narrow)


def _words_within(wide: Matcher, narrow: Matcher) -> bool:
    labels = dict(narrow.labels)
    return (
        _patterns_within(wide.names, narrow.names)
        and _patterns_within(wide.paths, narrow.paths)
        and _patterns_within(wide.roots, narrow.roots)
        and all(_patterns_within(patterns, labels.get(key, ())) for key, patterns in wide.labels)
    )


def _tags_within(wide: Matcher, narrow: Matcher) -> bool:
    one_of_them = _patterns_within(wide.any_tag, narrow.any_tag) or any(
        pattern_covers(one, other) for one in wide.any_tag for other in narrow.all_tags
    )
    every_one = all(any(pattern_covers(one, other) for other in narrow.all_tags) for one in wide.all_tags)
    return one_of_them and every_one


def _at_least(wide: Bound | None, narrow: Bound | None) -> bool:
    return wide is None or (narrow is not None and narrow >= wide)


def _at_most(wide: Bound | None, narrow: Bound | None) -> bool:
    return wide is None or (narrow is not None and narrow <= wide)
