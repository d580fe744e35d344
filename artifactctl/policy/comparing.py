"""What two policies decide about the same artifacts at one instant, and in which way they differ about each. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from artifactctl.policy.decisions import Decision, Evaluation
from artifactctl.policy.evaluating import Hearing
from artifactctl.policy.facts import Facts
from artifactctl.policy.protecting import Protections
from artifactctl.policy.ruleset import Policy


class Effect(StrEnum):
    """What the other policy changes for an artifact; the values are the fields of the JSON answer."""

    NEWLY_RECLAIMED = "newly_reclaimed"
    NEWLY_KEPT = "newly_kept"
    LOST_PROTECTION = "lost_protection"
    REASON_CHANGED = "reason_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One artifact, what the old policy decides and what the new one. `protect`: whose protection it loses."""

    facts: Facts
    before: Decision
    after: Decision
    protect: str = ""


class Comparison:
    """Two policies over one view at one instant. `before` and `after`: their evaluations, in the order of the view."""

    before: Evaluation
    after: Evaluation

    def __init__(self, old: Policy, new: Policy, hearing: Hearing, *, now: datetime) -> None:
        self.before, self.after = (hearing.evaluate(policy, now=now) for policy in (old, new))
        self._artifacts = hearing.view.artifacts
        self._same_protects = old.protects == new.protects
        self._covered, self._covers = (Protections(policy, now=now) for policy in (old, new))

    def touched(self) -> Iterator[Facts]:
        """Yield the artifacts for which anything may change, without asking what."""
        before, after = self.before.decisions.values(), self.after.decisions.values()
        asks_further = not self._same_protects  # a protect that is gone may have covered what is held, too
        for facts, was, becomes in zip(self._artifacts, before, after, strict=True):
            if (was is not becomes and _differ(was, becomes)) or (asks_further and was.built_in):
                yield facts

    def changes(self, facts: Facts) -> Iterator[tuple[Effect, Change]]:
        """Yield what changes for one artifact; a lost protection comes beside what follows from it."""
        was, becomes = self.before.decisions[facts.artifact_id], self.after.decisions[facts.artifact_id]
        change = Change(facts=facts, before=was, after=becomes)
        protect = self._covered.first(facts)
        loses = protect is not None and self._covers.first(facts) is None
        if protect is not None and loses:
            yield Effect.LOST_PROTECTION, Change(facts=facts, before=was, after=becomes, protect=protect.name)
        if was.kept and not becomes.kept:
            yield Effect.NEWLY_RECLAIMED, change
        elif becomes.kept and not was.kept:
            yield Effect.NEWLY_KEPT, change
        elif not loses and _differ(was, becomes):
            yield Effect.REASON_CHANGED, change


def _differ(was: Decision, becomes: Decision) -> bool:
    return was.because != becomes.because or was.action is not becomes.action
