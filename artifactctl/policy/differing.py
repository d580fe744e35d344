"""What another policy would do to each artifact of a catalog: today, in a week and in a month. Pure.

Holds, leases and copies stay as the view has them: what is older is the clock. An artifact that loses its protection
is listed as such whatever else keeps it, and once more where it would go.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import Cap
from artifactctl.policy.capping import Past, caps_of
from artifactctl.policy.comparing import Change, Comparison, Effect
from artifactctl.policy.decisions import Decision, Evaluation
from artifactctl.policy.edits import Edit, Mark, additions, edits_between
from artifactctl.policy.evaluating import Hearing
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.joining import Calendar, Joining
from artifactctl.policy.protecting import has_expired
from artifactctl.policy.ruleset import Policy

HORIZONS = (timedelta(0), timedelta(days=7), timedelta(days=30))


class Risk(StrEnum):
    """How much a change asks of a reviewer."""

    MILD = "mild"
    MODERATE = "moderate"
    SEVERE = "severe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A policy that is compared: what its files say, and what holds with what is configured beside them."""

    written: Policy
    standing: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A rule or protect that is no more, and the artifacts that it decided about under the old policy."""

    section: str
    name: str
    artifacts: tuple[Facts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The difference at one instant; the largest artifacts first. `exceeded`: limits that would refuse the run.

    That is a run which takes everything that is offered, the first of its day; limits that the old policy exceeds just
    so are left out.
    """

    at: datetime
    changes: Mapping[Effect, tuple[Change, ...]]
    removed: tuple[Removal, ...]
    exceeded: tuple[Cap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDifference:
    """Everything a reviewer has to know; `impacts` at each of `HORIZONS`. `loses_protection` says whether any is lost.

    `edits` are between what the files say; `configured` is what was counted beside it, for one of them or both.
    `joining` is what is not touched today and will be until the last of the instants. A protect that is removed is a
    loss even where it covers nothing today, unless another one says the same.
    """

    edits: tuple[Edit, ...]
    configured: tuple[Edit, ...]
    impacts: tuple[Impact, ...]
    joining: tuple[Joining, ...]
    taken_at: datetime
    population: int
    loses_protection: bool

    @property
    def refused(self) -> bool:
        """Whether a limit would refuse the run at one of the instants."""
        return any(impact.exceeded for impact in self.impacts)

    @property
    def reclaims_more(self) -> bool:
        """Whether anything would newly go at one of the instants."""
        return any(impact.changes[Effect.NEWLY_RECLAIMED] for impact in self.impacts)

    @property
    def risk(self) -> Risk:
        """Severe: protection is lost, or a run would be refused. Moderate: more would go, or limits have moved."""
        if self.loses_protection or self.refused:
            return Risk.SEVERE
        looser = any(edit.section in ("limits", "defaults") for edit in self.edits)
        return Risk.MODERATE if looser or self.reclaims_more else Risk.MILD


def differ(old: Candidate, new: Candidate, view: CatalogueView) -> PolicyDifference:
    """Return what changes when `new` takes the place of `old`; the view holds what either may match until the last."""
    edits = edits_between(old.written, new.written)
    hearing = Hearing(view)
    impacts = tuple(
        _impact(old.standing, new.standing, hearing, edits, now=view.taken_at + horizon) for horizon in HORIZONS
    )
    added = (additions(each.written, each.standing) for each in (old, new))
    return PolicyDifference(
        edits=edits,
        configured=tuple(dict.fromkeys(edit for each in added for edit in each)),
        impacts=impacts,
        joining=tuple(_joining(old.standing, new.standing, view, impacts)),
        taken_at=view.taken_at,
        population=sum(view.living.values()),
        loses_protection=_removes_a_protect(old, new, view.taken_at)
        or any(each.changes[Effect.LOST_PROTECTION] for each in impacts),
    )


def _impact(old: Policy, new: Policy, hearing: Hearing, edits: Sequence[Edit], *, now: datetime) -> Impact:
    comparison, view = Comparison(old, new, hearing, now=now), hearing.view
    changes: dict[Effect, list[Change]] = {effect: [] for effect in Effect}
    for facts in comparison.touched():
        for effect, change in comparison.changes(facts):
            changes[effect].append(change)
    present = _exceeded(old, view, comparison.before)
    return Impact(
        at=now,
        changes={
            effect: tuple(sorted(each, key=lambda change: _largest_first(change.facts)))
            for effect, each in changes.items()
        },
        removed=tuple(_removals(edits, comparison.before, view.artifacts)),
        exceeded=tuple(cap for cap in _exceeded(new, view, comparison.after) if cap not in present),
    )


def _joining(old: Policy, new: Policy, view: CatalogueView, impacts: Sequence[Impact]) -> Iterator[Joining]:
    """Yield what joins a class after today, by class, the largest artifacts first."""
    calendar: Calendar | None = None
    seen = {(change.facts.artifact_id, effect) for effect in Effect for change in impacts[0].changes[effect]}
    found: list[Joining] = []
    for earlier, later in pairwise(impacts):
        joining = {
            (change.facts.artifact_id, effect): change
            for effect in Effect
            for change in later.changes[effect]
            if (change.facts.artifact_id, effect) not in seen
        }
        if joining:
            calendar = calendar or Calendar(old, new, view)
            found += calendar.joinings(joining, after=earlier.at, until=later.at).values()
            seen |= joining.keys()
    yield from sorted(found, key=lambda each: (list(Effect).index(each.effect), _largest_first(each.change.facts)))


def _largest_first(facts: Facts) -> tuple[int, str, int]:
    return -facts.allocated_bytes, facts.name, facts.artifact_id


def _exceeded(policy: Policy, view: CatalogueView, evaluation: Evaluation) -> tuple[Cap, ...]:
    """Return the limits that everything offered would exceed; every copy counts, as it does in a plan."""
    decisions = zip(view.artifacts, evaluation.decisions.values(), strict=True)
    offered = [facts for facts, decision in decisions if decision.action is not None]
    taken = Taken(
        bytes=sum([facts.allocated_bytes for facts in offered]), artifacts=sum([facts.copies for facts in offered])
    )
    going = Counter([facts.kind for facts in offered])
    return tuple(cap for cap in caps_of(taken, going, policy.limits, Past(living=view.living)) if cap.exceeded)


def _removals(edits: Sequence[Edit], before: Evaluation, artifacts: Sequence[Facts]) -> list[Removal]:
    removed = [edit for edit in edits if edit.mark is Mark.REMOVED]
    found = []
    for edit in removed:
        decisions = zip(artifacts, before.decisions.values(), strict=True)
        decided = sorted([facts for facts, decision in decisions if _decided(decision, edit)], key=_largest_first)
        found.append(Removal(section=edit.section, name=edit.name, artifacts=tuple(decided)))
    return found


def _decided(decision: Decision, edit: Edit) -> bool:
    if edit.section == "protect":
        return decision.because == f"protect.{edit.name}"
    return decision.rule == edit.name


def _removes_a_protect(old: Candidate, new: Candidate, now: datetime) -> bool:
    """Whether a protect in force is gone and no other says the same for as long; a new name is no removal."""
    staying = [protect for protect in new.standing.protects if not has_expired(protect, now)]
    names = {protect.name for protect in new.written.protects}
    return any(
        protect.name not in names
        and not has_expired(protect, now)
        and not any(
            each.match == protect.match
            and (each.expires is None or (protect.expires is not None and each.expires >= protect.expires))
            for each in staying
        )
        for protect in old.written.protects
    )


def bytes_of(artifacts: Sequence[Facts]) -> int:
    """Return what the live copies of the artifacts take."""
    return sum(facts.allocated_bytes for facts in artifacts)
