"""Whether a matcher holds for an artifact: yes, no, or not known, and which condition settled it."""

from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.conditions import Condition, conditions_of
from artifactctl.policy.decisions import Holds
from artifactctl.policy.facts import Facts
from artifactctl.policy.ruleset import Matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """A matcher ready to be asked about many artifacts at one instant. All its conditions must hold."""

    kinds: tuple[ArtifactKind, ...]
    conditions: tuple[Condition, ...]

    def may_be(self, kind: ArtifactKind) -> bool:
        """Return whether an artifact of this kind can match at all."""
        return not self.kinds or kind in self.kinds

    def answer(self, facts: Facts) -> Holds:
        """Return NO when a condition fails, else UNKNOWN when one cannot be decided, else YES."""
        known = True
        for condition in self.conditions:
            outcome = condition.test(facts)
            if outcome is False:
                return Holds.NO
            known = known and outcome is not None
        return Holds.YES if known else Holds.UNKNOWN

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
    return Matching(kinds=matcher.kinds, conditions=conditions_of(matcher, now=now))


def matches(matcher: Matcher, facts: Facts, *, now: datetime) -> Holds:
    """Return whether the matcher holds for one artifact."""
    return matching(matcher, now=now).answer(facts)
