"""Whether a demand fits below every bound, and if not, what to give up so that it does.

A candidate counts only for the bounds it relieves: removing somebody else's files does not widen one's own quota.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from artifactctl.capacity.demand import Demand
from artifactctl.capacity.headroom import Bound, Headroom
from artifactctl.capacity.selection import (
    Amount,
    ReclaimCandidate,
    freed_bytes_of,
    freed_files_of,
    least_regret,
    without_superfluous,
)


class Fit(StrEnum):
    """The three answers, the best first."""

    FITS = "fits"
    FITS_AFTER_RECLAIM = "fits_after_reclaim"
    DOES_NOT_FIT = "does_not_fit"


def choose(
    demand: Demand, headroom: Headroom, candidates: Sequence[ReclaimCandidate], *, deadline: datetime, now: datetime
) -> tuple[Fit, tuple[ReclaimCandidate, ...]]:
    """Return the verdict and what to give up: first of what is free by the deadline, else of everything."""
    needs = [
        (bound, missing)
        for bound in headroom.bounds
        if (missing := bound.shortfall(peak_bytes=demand.peak_bytes, files=demand.files)) > 0
    ]
    if not needs:
        return Fit.FITS, ()
    in_time = [candidate for candidate in candidates if (candidate.available_at or now) <= deadline]
    for eligible in (in_time, candidates):
        chosen = _covering_all(needs, eligible)
        if chosen:
            return Fit.FITS_AFTER_RECLAIM, chosen
    return Fit.DOES_NOT_FIT, ()


def _covering_all(
    needs: Sequence[tuple[Bound, int]], eligible: Sequence[ReclaimCandidate]
) -> tuple[ReclaimCandidate, ...]:
    """Return the least-regret candidates that cover every bound that is short, or nothing."""
    union: dict[str, ReclaimCandidate] = {}
    for bound, missing in needs:
        chosen = least_regret(eligible, needed=missing, amount=_relief(bound))
        if not chosen:
            return ()
        union.update((candidate.name, candidate) for candidate in chosen)
    return without_superfluous(union.values(), needs=[(_relief(bound), missing) for bound, missing in needs])


def _relief(bound: Bound) -> Amount:
    """Return what a candidate adds to a bound, in the bound's own unit."""
    freed = freed_files_of if bound.available_inodes is not None else freed_bytes_of

    def amount(candidate: ReclaimCandidate) -> int:
        return freed(candidate) if bound.name in candidate.relieves else 0

    return amount
