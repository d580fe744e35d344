"""The conditions of a matcher, one value each: what it asks, and the three-valued test of one artifact."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from artifactctl.policy.facts import Facts
from artifactctl.policy.patterns import any_of, matcher_of
from artifactctl.policy.ruleset import Matcher
from artifactctl.policy.spelling import duration_text
from artifactctl.policy.wording import either, spell_age

MAY_BE_UNKNOWN = frozenset({"name", "path", "root", "run_state"})
"""The fields of `Facts` that a condition may look at in vain."""

_YES_OR_NO = {True: "yes", False: "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`field` as a policy file names it, what is `wanted` of it, its `value` in words ("" when nobody knows).

    `test` answers None when the value is not known; of `Facts` it looks at the field `reads` alone.
    """

    field: str
    reads: str
    wanted: str
    test: Callable[[Facts], bool | None]
    value: Callable[[Facts], str]


def conditions_of(matcher: Matcher, *, now: datetime) -> tuple[Condition, ...]:
    """Return what the matcher asks, cheapest first; () for one that asks nothing."""
    return (
        *_kinds(matcher),
        *_states(matcher),
        *_ages(matcher, now),
        *_sizes(matcher),
        *_words(matcher),
        *_tags(matcher),
    )


def _kinds(matcher: Matcher) -> Iterator[Condition]:
    if matcher.kinds:
        kinds = matcher.kinds  # a handful: faster than a set, since an enumeration's hash is computed in Python
        yield Condition(
            field="kind",
            reads="kind",
            wanted=either(kind.value for kind in matcher.kinds),
            test=lambda facts: facts.kind in kinds,
            value=lambda facts: facts.kind.value,
        )


def _states(matcher: Matcher) -> Iterator[Condition]:
    for field, reads, wanted, read in (
        ("pinned", "held", matcher.pinned, lambda facts: facts.held),
        ("superseded", "superseded", matcher.superseded, lambda facts: facts.superseded),
        (
            "successor_verified",
            "successor_verified",
            matcher.successor_verified,
            lambda facts: facts.successor_verified,
        ),
        ("rebuildable", "rebuildable", matcher.rebuildable, lambda facts: facts.rebuildable),
        ("complete", "complete", matcher.complete, lambda facts: facts.complete),
        ("verified", "verified_copies", matcher.verified, lambda facts: facts.verified_copies > 0),
    ):
        if wanted is not None:
            yield _flag(field, reads, read, wanted=wanted)
    if matcher.producer_states:
        states = frozenset(matcher.producer_states)
        yield Condition(
            field="producer.state",
            reads="run_state",
            wanted=either(state.value for state in matcher.producer_states),
            test=lambda facts: None if facts.run_state is None else facts.run_state in states,
            value=lambda facts: "" if facts.run_state is None else facts.run_state.value,
        )


def _flag(field: str, reads: str, read: Callable[[Facts], bool], *, wanted: bool) -> Condition:
    return Condition(
        field=field,
        reads=reads,
        wanted=_YES_OR_NO[wanted],
        test=lambda facts: read(facts) is wanted,
        value=lambda facts: _YES_OR_NO[read(facts)],
    )


def _ages(matcher: Matcher, now: datetime) -> Iterator[Condition]:
    def age(facts: Facts) -> str:
        return spell_age(now - facts.created_at)

    older, newer = matcher.older_than, matcher.newer_than
    if older is not None:
        bound = now - older
        wanted = f"at least {duration_text(older)}"
        yield Condition(
            field="age", reads="created_at", wanted=wanted, test=lambda facts: facts.created_at <= bound, value=age
        )
    if newer is not None:
        limit = now - newer
        wanted = f"less than {duration_text(newer)}"
        yield Condition(
            field="age", reads="created_at", wanted=wanted, test=lambda facts: facts.created_at > limit, value=age
        )


def _sizes(matcher: Matcher) -> Iterator[Condition]:
    def size(facts: Facts) -> str:
        return f"{facts.allocated_bytes:,} bytes"

    more, less = matcher.larger_than_bytes, matcher.smaller_than_bytes
    if more is not None:
        wanted = f"more than {more:,} bytes"
        yield Condition(
            field="size",
            reads="allocated_bytes",
            wanted=wanted,
            test=lambda facts: facts.allocated_bytes > more,
            value=size,
        )
    if less is not None:
        wanted = f"less than {less:,} bytes"
        yield Condition(
            field="size",
            reads="allocated_bytes",
            wanted=wanted,
            test=lambda facts: facts.allocated_bytes < less,
            value=size,
        )


def _words(matcher: Matcher) -> Iterator[Condition]:
    if matcher.names:
        yield _text("name", matcher.names, lambda facts: facts.name)
    if matcher.paths:
        yield _text("path", matcher.paths, lambda facts: facts.path)
    if matcher.roots:
        yield _text("root", matcher.roots, lambda facts: facts.root)
    for key, patterns in matcher.labels:
        yield _label(key, patterns)


def _text(field: str, patterns: tuple[str, ...], read: Callable[[Facts], str]) -> Condition:
    fits = any_of(patterns)
    return Condition(
        field=field,
        reads=field,
        wanted=either(patterns),
        test=lambda facts: fits(text) if (text := read(facts)) else None,
        value=read,
    )


def _label(key: str, patterns: tuple[str, ...]) -> Condition:
    """A label that an artifact does not bear is a fact, not an unknown: it does not match."""
    fits = any_of(patterns)
    return Condition(
        field=f"labels.{key}",
        reads="labels",
        wanted=either(patterns),
        test=lambda facts: any(name == key and fits(value) for name, value in facts.labels),
        value=lambda facts: label_of(facts, key) or "not set",
    )


def _tags(matcher: Matcher) -> Iterator[Condition]:
    def tags(facts: Facts) -> str:
        return ", ".join(sorted(facts.tags)) or "none"

    if matcher.any_tag:
        fits = any_of(matcher.any_tag)
        yield Condition(
            field="tags",
            reads="labels",
            wanted=either(matcher.any_tag),
            test=lambda facts: any(map(fits, facts.tags)),
            value=tags,
        )
    if matcher.all_tags:
        needed = tuple(map(matcher_of, matcher.all_tags))
        yield Condition(
            field="tags",
            reads="labels",
            wanted=" and ".join(matcher.all_tags),
            test=lambda facts: all(any(map(one, facts.tags)) for one in needed),
            value=tags,
        )


def label_of(facts: Facts, key: str) -> str:
    """Return the value of a label, "" when it is not set."""
    return next((value for name, value in facts.labels if name == key), "")
