"""The guards that stand before every removal, and how their answers combine."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from artifactctl.domain.errors import UsageError
from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence
from artifactctl.guards.candidate import Candidate, Guard
from artifactctl.guards.confined import Confined
from artifactctl.guards.in_policy import InPolicy
from artifactctl.guards.known_members import KnownMembers
from artifactctl.guards.no_hold import NoHold
from artifactctl.guards.no_live_descendant import NoLiveDescendant
from artifactctl.guards.not_held import NotHeld
from artifactctl.guards.not_referenced import NotReferenced
from artifactctl.guards.recoverable import Recoverable
from artifactctl.guards.removable import Removable
from artifactctl.guards.settled import Settled
from artifactctl.guards.successor_verified import SuccessorVerified
from artifactctl.guards.unchanged import Unchanged
from artifactctl.guards.unleased import Unleased
from artifactctl.guards.unprotected import Unprotected

HARD: tuple[str, ...] = (
    "confined",
    "not_referenced",
    "known_members",
    "unchanged",
    "removable",
    "not_held",
    "unleased",
    "no_hold",
    "unprotected",
    "no_live_descendant",
    "within_caps",
)
"""Waivable by nobody."""

WAIVABLE: tuple[str, ...] = ("recoverable", "successor_verified", "settled", "in_policy")
"""Waivable one by one, by name, with a reason."""


def standard_guards() -> tuple[Guard, ...]:
    """Return every guard that judges one candidate, in the order people read them (`within_caps` judges the plan)."""
    return (
        Confined(),
        NotReferenced(),
        KnownMembers(),
        Unchanged(),
        Removable(),
        NotHeld(),
        Unleased(),
        NoHold(),
        Unprotected(),
        NoLiveDescendant(),
        Recoverable(),
        SuccessorVerified(),
        Settled(),
        InPolicy(),
    )


def check_waivers(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in standard order, each once; UsageError for one that is hard or unknown."""
    wanted = set(names)
    for name in sorted(wanted):
        if name in HARD:
            raise UsageError(
                f"the guard `{name}` cannot be waived by anybody", remedy=f"waivable are: {', '.join(WAIVABLE)}"
            )
        if name not in WAIVABLE:
            raise UsageError(f"there is no guard `{name}`", remedy=f"waivable are: {', '.join(WAIVABLE)}")
    return tuple(name for name in WAIVABLE if name in wanted)


def evaluate(
    guards: Sequence[Guard], candidate: Candidate, observation: Observation, *, waivers: Sequence[str] = ()
) -> tuple[Evidence, ...]:
    """Run every guard and return all evidence; a waiver marks the evidence of a waivable guard that is not clear.

    An empty list of guards is an error, not permission.
    """
    if not guards:
        raise ValueError("no guards: nothing may be removed unexamined")
    waived = frozenset(waivers) & frozenset(WAIVABLE)
    return tuple(_marked(guard.check(candidate, observation), waived) for guard in guards)


def _marked(evidence: Evidence, waived: frozenset[str]) -> Evidence:
    if evidence.guard in waived and not evidence.permits_removal:
        return replace(evidence, waived=True)
    return evidence
