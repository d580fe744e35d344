"""What is counted against the limits of a run, of a day and of a kind. Pure; the past comes in as a value.

Caps count what would go, and for a day (UTC) what already went. A share counts from ten artifacts of a kind up: of
fewer, one alone would be over most limits.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import Cap, CapName
from artifactctl.policy.ruleset import Limits

SHARE_COUNTS_FROM = 10
"""Of a kind with fewer living artifacts, no share is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What limits look back at: how much went today (UTC), in the last runs, and how many artifacts of a kind live."""

    today: Taken = field(default_factory=Taken)
    last_runs: tuple[Taken, ...] = ()
    living: Mapping[ArtifactKind, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one copy adds to a plan."""

    artifact_id: int
    kind: ArtifactKind
    allocated_bytes: int


def caps_on(loads: Sequence[Load], limits: Limits, past: Past) -> tuple[Cap, ...]:
    """Return every limit that is set, with what the plan would use of it."""
    going = Counter(kind for kind, _ in {(load.kind, load.artifact_id) for load in loads})
    return caps_of(taken_by(loads), going, limits, past)


def caps_of(taken: Taken, going: Mapping[ArtifactKind, int], limits: Limits, past: Past) -> tuple[Cap, ...]:
    """Return the same for copies of which is known what they are together, and how many artifacts of each kind."""
    caps = [
        Cap(name=CapName.BYTES, limit=limits.max_bytes, used=taken.bytes),
        Cap(name=CapName.ARTIFACTS, limit=limits.max_artifacts, used=taken.artifacts),
    ]
    today = past.today
    if limits.max_bytes_per_day is not None:
        caps.append(_per_day(CapName.BYTES_PER_DAY, limits.max_bytes_per_day, taken.bytes, today.bytes))
    if limits.max_artifacts_per_day is not None:
        caps.append(_per_day(CapName.ARTIFACTS_PER_DAY, limits.max_artifacts_per_day, taken.artifacts, today.artifacts))
    if limits.max_share_of_kind is not None:
        caps += _shares(going, limits.max_share_of_kind, past.living)
    return tuple(caps)


def taken_by(loads: Sequence[Load]) -> Taken:
    """Return what they are together."""
    return Taken(bytes=sum(load.allocated_bytes for load in loads), artifacts=len(loads))


def _per_day(name: CapName, limit: int, used: int, before: int) -> Cap:
    return Cap(name=name, limit=limit, used=used + before, before=before)


def _shares(going: Mapping[ArtifactKind, int], share: float, living: Mapping[ArtifactKind, int]) -> Iterable[Cap]:
    for kind in sorted(going):
        population = living.get(kind, 0)
        if population >= SHARE_COUNTS_FROM:
            limit = math.floor(share * population + 1e-9)  # 0.3 * 10 must be 3
            yield Cap(name=CapName.SHARE_OF_KIND, limit=limit, used=going[kind], kind=kind, population=population)
