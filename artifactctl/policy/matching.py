"""Whether a matcher holds for an artifact: yes, no, or not known, and which condition settled it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.conditions import Condition, conditions_of
from artifactctl.policy.decisions import Holds
from artifactctl.policy.facts import Facts
from artifactctl.policy.ruleset import Matcher

_OF_ONE = frozenset({"name", "path", "created_at", "allocated_bytes"})
"""Fields that nearly every artifact has a value of its own of; all others many have in common."""

_AS_MANY_ANSWERS = 65_536
"""So many are remembered; where labels say something else of each artifact, remembering is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """A matcher ready to be asked about many artifacts at one instant. All its conditions must hold.

    What artifacts have in common is asked of the first that has it, and the answer remembered in `answers`.
    """

    kinds: tuple[ArtifactKind, ...]
    conditions: tuple[Condition, ...]
    of_one: tuple[Condition, ...]
    shared: Callable[[Facts], object] | None
    answers: dict[object, Holds] = field(default_factory=dict, compare=False)

    def may_be(self, kind: ArtifactKind) -> bool:
        """Return whether an artifact of this kind can match at all."""
        return not self.kinds or kind in self.kinds

    def among(self, kind: ArtifactKind) -> "Matching | None":
        """Return what is left to ask of artifacts that are all of this kind; None when none of them can match."""
        if not self.may_be(kind):
            return None
        return _made_ready((), tuple(condition for condition in self.conditions if condition.reads != "kind"))

    def answer(self, facts: Facts) -> Holds:
        """Return NO when a condition fails, else UNKNOWN when one cannot be decided, else YES."""
        if self.shared is None:
            return _outcome(self.of_one, facts)
        key = self.shared(facts)
        answer = self.answers.get(key)
        if answer is None:
            answer = _outcome((each for each in self.conditions if each.reads not in _OF_ONE), facts)
            if len(self.answers) >= _AS_MANY_ANSWERS:
                self.answers.clear()
            self.answers[key] = answer
        if answer is Holds.NO or not self.of_one:
            return answer
        own = _outcome(self.of_one, facts)
        return answer if own is Holds.YES else own

    def sentence(self, facts: Facts) -> str:
        """Return why: what does not fit, else what is missing, else that everything fits."""
        outcomes = [(condition, condition.test(facts)) for condition in self.conditions]
        for condition, outcome in outcomes:
            if outcome is False:
                return f"{condition.field} is {condition.value(facts)}, not {condition.wanted}"
        missing = [condition.field for condition, outcome in outcomes if outcome is None]
        if missing:
            return f"{', '.join(missing)} missing"
        found = [f"{condition.field} is {condition.value(facts)}" for condition in self.conditions]
        return ", ".join(found) if found else "it asks nothing"


def matching(matcher: Matcher, *, now: datetime) -> Matching:
    """Return the matcher made ready for one instant."""
    return _made_ready(matcher.kinds, conditions_of(matcher, now=now))


def _made_ready(kinds: tuple[ArtifactKind, ...], conditions: tuple[Condition, ...]) -> Matching:
    shared = sorted({condition.reads for condition in conditions} - _OF_ONE)
    return Matching(
        kinds=kinds,
        conditions=conditions,
        of_one=tuple(condition for condition in conditions if condition.reads in _OF_ONE),
        shared=attrgetter(*shared) if shared else None,
    )


def asks_the_clock(matcher: Matcher) -> bool:
    """Return whether what matches may be something else at another instant, everything else being equal."""
    return matcher.older_than is not None or matcher.newer_than is not None


def matches(matcher: Matcher, facts: Facts, *, now: datetime) -> Holds:
    """Return whether the matcher holds for one artifact."""
    return matching(matcher, now=now).answer(facts)


def _outcome(conditions: Iterable[Condition], facts: Facts) -> Holds:
    known = True
    for condition in conditions:
        outcome = condition.test(facts)
        if outcome is False:
            return Holds.NO
        known = known and outcome is not None
    return Holds.YES if known else Holds.UNKNOWN
