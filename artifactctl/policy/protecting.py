"""What no rule can offer: the built-in protections, which no policy removes, and the protects of the policy."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.decisions import Decision, Holds
from artifactctl.policy.facts import Facts
from artifactctl.policy.matching import Matching, matching
from artifactctl.policy.ruleset import Policy, Protect

BUILTINS: tuple[tuple[Decision, Callable[[Facts], bool]], ...] = tuple(
    (Decision(action=None, because=f"builtin.{word}", sentence=f"keep: {reason}"), test)
    for word, reason, test in (
        ("held", "somebody holds it", lambda facts: facts.held),
        ("leased", "somebody uses it (a lease)", lambda facts: facts.leased),
        ("unfinished_run", "a run that has not ended reads it", lambda facts: facts.input_of_unfinished_run),
        ("incomplete", "its writer has not said that it is finished", lambda facts: not facts.complete),
        ("not_live", "it has no live copy, or one that is moving", lambda facts: not facts.live),
    )
)
"""In order; the first that holds decides."""


def builtin_of(facts: Facts) -> Decision | None:
    """Return the built-in protection that keeps the artifact."""
    if facts.live and facts.complete and not (facts.held or facts.leased or facts.input_of_unfinished_run):
        return None  # the answer for nearly all of a million
    return next((decision for decision, holds in BUILTINS if holds(facts)), None)


_Asked = tuple[Protect, Matching]


class Protections:
    """The protects of one policy that are in force at one instant, ready to be asked about many artifacts."""

    def __init__(self, policy: Policy, *, now: datetime) -> None:
        in_force = [(each, matching(each.match, now=now)) for each in policy.protects if not has_expired(each, now)]
        self._by_kind: Mapping[ArtifactKind, Sequence[_Asked]] = {
            kind: tuple((each, among) for each, match in in_force if (among := match.among(kind)) is not None)
            for kind in ArtifactKind
        }

    def first(self, facts: Facts) -> Protect | None:
        """Return the first protect that covers the artifact, or that may: what cannot be decided protects."""
        covering = _covering(self._by_kind[facts.kind], facts)
        return None if covering is None else covering[0]

    def decision(self, facts: Facts) -> Decision | None:
        """Return what the first of them says."""
        return _first_decision(self._by_kind[facts.kind], facts)

    def among(self, kind: ArtifactKind) -> Callable[[Facts], Decision | None] | None:
        """Return what says the same of artifacts that are all of this kind; None when no protect can cover any."""
        asked = self._by_kind[kind]
        return partial(_first_decision, asked) if asked else None


def _covering(asked: Sequence[_Asked], facts: Facts) -> tuple[Protect, Matching, Holds] | None:
    for protect, match in asked:
        answer = match.answer(facts)
        if answer is not Holds.NO:
            return protect, match, answer
    return None


def _first_decision(asked: Sequence[_Asked], facts: Facts) -> Decision | None:
    covering = _covering(asked, facts)
    if covering is None:
        return None
    protect, match, answer = covering
    doubt = f" ({match.sentence(facts)}, which protects)" if answer is Holds.UNKNOWN else ""
    sentence = f"keep: protected by {protect.name}: {protect.reason}{doubt}"
    return Decision(action=None, because=f"protect.{protect.name}", sentence=sentence)


def has_expired(protect: Protect, now: datetime) -> bool:
    """Whether the protect has ended."""
    return protect.expires is not None and protect.expires <= now


def protects_of(policy: Policy, facts: Facts, *, now: datetime) -> Protect | None:
    """Return the first protect in force that covers the artifact, or that may."""
    return Protections(policy, now=now).first(facts)
