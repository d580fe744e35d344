"""What would free bytes on a volume at once, what only later, and what not at all and why: for a writer that waits.

The volume is looked at as for a removal (`prepare`, with `--purge-now`, since a quarantine frees nothing yet), so that
nothing is named that the guards would refuse a moment later. Nothing is written.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import ReplicaState, Root
from artifactctl.domain.errors import HostFailure, Refused
from artifactctl.inventory.rulings import Rulings
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.quarantined import in_quarantine, unproven_grace
from artifactctl.reclaim.workplace import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Giving:
    """Something that can be given up. `from_when` it frees its bytes, None at once; `is_aside`: it is in quarantine."""

    name: str
    freed_bytes: int
    from_when: datetime | None = None
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """`now` and `later`, the earliest first, can be given up; `kept` are (name, why) of what is offered and refused.

    `roots` are the names of the roots that were looked at; `trouble` says why nobody could look, "" where somebody did.
    """

    roots: tuple[str, ...]
    now: tuple[Giving, ...] = ()
    later: tuple[Giving, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    trouble: str = ""

    @property
    def freed_bytes(self) -> int:
        """What giving up all that may go frees at once."""
        return sum(each.freed_bytes for each in self.now)


def relief_on(workplace: Workplace, roots: Sequence[Root]) -> Relief:
    """Return what would help on the volume of these roots, of one machine."""
    now = workplace.clock()
    names = tuple(root.name for root in roots)
    if not roots:
        return Relief(roots=(), trouble="no managed root lies there")
    with workplace.catalog.reading() as reading:
        aside = tuple(_set_aside(workplace, reading, roots, now))
        young = tuple(_too_young(workplace, reading, roots, now))
    kept: tuple[tuple[str, str], ...] = ()
    offered: tuple[Giving, ...] = ()
    trouble = ""
    try:
        plan = prepare(workplace, Wish(scope=tuple(roots), purge_now=True))
    except (Refused, HostFailure) as refused:
        trouble = refused.message
    else:
        offered = tuple(Giving(name=step.name, freed_bytes=step.expected_freed_bytes) for step in plan.steps)
        kept = tuple((refusal.name, refusal.blocking[0].reason) for refusal in plan.refused if refusal.blocking)
    everything = (*aside, *offered, *young)
    return Relief(
        roots=names,
        now=tuple(each for each in everything if each.from_when is None and each.freed_bytes > 0),
        later=tuple(
            sorted((each for each in everything if each.from_when), key=lambda each: (each.from_when, each.name))
        ),
        kept=kept,
        trouble=trouble,
    )


def _set_aside(workplace: Workplace, reading: Reading, roots: Sequence[Root], now: datetime) -> Iterator[Giving]:
    inside = {root.root_id for root in roots}
    for item in in_quarantine(reading):
        grace_until = item.operation.grace_until
        if item.replica.root.root_id not in inside or grace_until is None:
            continue
        over_at = max(grace_until, now + unproven_grace(item, workplace.host.uptime()))
        yield Giving(
            name=item.artifact.name,
            freed_bytes=item.operation.expected_freed_bytes,
            from_when=None if over_at <= now else over_at,
            is_aside=True,
        )


def _too_young(workplace: Workplace, reading: Reading, roots: Sequence[Root], now: datetime) -> Iterator[Giving]:
    """Yield what a rule would offer if it had the least age that the policy wants, with when it has."""
    policy = workplace.policy
    if not policy.min_age:
        return
    inside = {root.root_id for root in roots}
    at_any_age = Rulings(replace(policy, min_age=timedelta(0)), reading, now=now).offered
    numbers = at_any_age - Rulings(policy, reading, now=now).offered
    for artifact in reading.artifacts(state=ReplicaState.LIVE, numbers=numbers):
        copies = [r for r in artifact.replicas if r.state is ReplicaState.LIVE and r.root.root_id in inside]
        if copies:
            freed_bytes = sum(copy.allocated_bytes for copy in copies)
            yield Giving(name=artifact.name, freed_bytes=freed_bytes, from_when=artifact.created_at + policy.min_age)
