"""The limits of one run that everything a policy offers would exceed, were it all taken at once."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.facts import Facts
from artifactctl.policy.ruleset import Limits

SHARE_COUNTS_FROM = 10
"""Of a kind with fewer living artifacts, no share is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrun:
    """A limit as the policy file calls it, what it allows and what a run would take; for a share in artifacts."""

    limit: str
    allowed: int
    used: int
    kind: ArtifactKind | None = None


def overruns(limits: Limits, offered: Sequence[Facts], living: Mapping[ArtifactKind, int]) -> tuple[Overrun, ...]:
    """Return every limit that is exceeded. A day's limits count as a run's: the first run of a day may use them up."""
    used_bytes = sum(facts.allocated_bytes for facts in offered)
    counted = [
        ("max_bytes", limits.max_bytes, used_bytes),
        ("max_artifacts", limits.max_artifacts, len(offered)),
        ("per_day.max_bytes", limits.max_bytes_per_day, used_bytes),
        ("per_day.max_artifacts", limits.max_artifacts_per_day, len(offered)),
    ]
    found = [
        Overrun(limit=name, allowed=allowed, used=used)
        for name, allowed, used in counted
        if allowed is not None and used > allowed
    ]
    if limits.max_share_of_kind is not None:
        for kind, going in sorted(Counter(facts.kind for facts in offered).items()):
            population = living.get(kind, 0)
            allowed = math.floor(limits.max_share_of_kind * population + 1e-9)  # 0.3 * 10 must be 3
            if population >= SHARE_COUNTS_FROM and going > allowed:
                found.append(Overrun(limit="max_share_of_kind", allowed=allowed, used=going, kind=kind))
    return tuple(found)
