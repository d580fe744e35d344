"""The answer of a capacity plan: does the demand fit, until when, and what is the cheapest thing to give up.

It fits when the peak fits below every bound. It fits after reclaim when candidates that widen the bounds that are
short cover what is missing. Otherwise it does not fit, and nothing is offered for removal, since that would not help.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl.capacity.calibration import Basis
from artifactctl.capacity.demand import Demand, DemandPart, Stage, StagingElsewhere
from artifactctl.capacity.fit import Fit, choose
from artifactctl.capacity.growth import peak_point, time_until
from artifactctl.capacity.headroom import Headroom
from artifactctl.capacity.selection import ReclaimCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Another way to run the stage, not judged yet; `note` says what it costs or assumes."""

    name: str
    demand: Demand
    basis: Basis
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another way to run the stage, judged against the same headroom and the same candidates."""

    name: str
    verdict: Fit
    tokens: int | None
    demand_bytes: int
    peak_bytes: int
    basis: Basis
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimOffer:
    """One member of the least-regret set, and from when its bytes are free."""

    name: str
    allocated_bytes: int
    freed_bytes: int
    available_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """The demand of a stage against the headroom of one volume.

    `demand_bytes` stays when finished, `peak_bytes` also holds staging; `shortfall_bytes` is what the peak lacks.
    `full_at` is when writes fail if nothing is given up (reserve and promises used up as well), None where that does
    not happen or no rate is known. `fits_from` is when the last offered bytes are free, None where nothing is offered.
    `basis_note` says how much was measured. `host`, `machine_id` and `host_key` say on which machine the volume is
    where that is not the one on which the plan was made.
    """

    verdict: Fit
    stage: Stage
    recipe: str
    made_at: datetime
    mount: bytes
    filesystem_uuid: str
    tokens: int | None
    bytes_per_token: int | None
    demand_bytes: int
    peak_bytes: int
    files: int
    headroom_bytes: int
    available_bytes: int
    promised_bytes: int
    reserve_bytes: int
    limited_by: str
    duration: timedelta | None
    peak_at: datetime | None
    full_at: datetime | None
    basis: Basis
    basis_note: str
    parts: tuple[DemandPart, ...]
    elsewhere: tuple[StagingElsewhere, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    reclaim: tuple[ReclaimOffer, ...] = ()
    reservation_id: str = ""
    host: str = ""
    machine_id: str = ""
    host_key: str = ""

    def __post_init__(self) -> None:
        if (self.verdict is Fit.FITS) != (self.peak_bytes <= self.headroom_bytes):
            raise ValueError("the verdict contradicts peak and headroom")
        if sum(part.part_bytes for part in self.parts) != self.demand_bytes or self.peak_bytes < self.demand_bytes:
            raise ValueError("the parts do not add up to the demand, or the peak lies below it")
        if bool(self.reclaim) != (self.verdict is Fit.FITS_AFTER_RECLAIM):
            raise ValueError("something is offered for removal if, and only if, that makes the demand fit")

    @property
    def headroom_after_bytes(self) -> int:
        """What is left of the headroom when the stage has finished; negative where it does not fit."""
        return self.headroom_bytes - self.demand_bytes

    @property
    def shortfall_bytes(self) -> int:
        """What the peak lacks before anything is given up."""
        return max(0, self.peak_bytes - self.headroom_bytes)

    @property
    def finishes_at(self) -> datetime | None:
        """When the stage is done if it starts now."""
        return None if self.duration is None else self.made_at + self.duration

    @property
    def fits_from(self) -> datetime | None:
        """When the last of the offered bytes are free."""
        return max((offer.available_at for offer in self.reclaim), default=None)


def lacking_bytes(plan: CapacityPlan, headroom: Headroom) -> int:
    """Return what a plan made earlier lacks against today's headroom; 0 means that nothing needs to be given up.

    Measure the headroom without the plan's own reservation.
    """
    headroom_bytes, _ = headroom.binding(peak_bytes=plan.peak_bytes, files=plan.files)
    return max(0, plan.peak_bytes - headroom_bytes)


def judge(
    demand: Demand,
    *,
    headroom: Headroom,
    now: datetime,
    basis: Basis,
    basis_note: str = "",
    candidates: Iterable[ReclaimCandidate] = (),
    options: Iterable[Option] = (),
) -> CapacityPlan:
    """Return the plan for a demand that starts now."""
    known = tuple(candidates)
    headroom_bytes, limited_by = headroom.binding(peak_bytes=demand.peak_bytes, files=demand.files)
    until_full_bytes = headroom.bytes_until_full(peak_bytes=demand.peak_bytes, files=demand.files)
    fills_after = time_until(demand.growth, until_full_bytes)
    verdict, chosen = choose(demand, headroom, known, deadline=now + (fills_after or timedelta(0)), now=now)
    peak = peak_point(demand.growth)
    return CapacityPlan(
        verdict=verdict,
        stage=demand.stage,
        recipe=demand.recipe,
        made_at=now,
        mount=headroom.mount,
        filesystem_uuid=headroom.filesystem_uuid,
        tokens=demand.tokens,
        bytes_per_token=demand.bytes_per_token,
        demand_bytes=demand.final_bytes,
        peak_bytes=demand.peak_bytes,
        files=demand.files,
        headroom_bytes=headroom_bytes,
        available_bytes=headroom.available_bytes,
        promised_bytes=headroom.promised_bytes,
        reserve_bytes=headroom.reserve_bytes,
        limited_by=limited_by,
        duration=demand.duration,
        peak_at=None if peak is None else now + peak.after,
        full_at=None if fills_after is None else now + fills_after,
        basis=basis,
        basis_note=basis_note,
        parts=demand.parts,
        elsewhere=demand.elsewhere,
        alternatives=tuple(_judged(option, headroom, known, now) for option in options),
        reclaim=tuple(_offer(candidate, now) for candidate in chosen),
    )


def _judged(option: Option, headroom: Headroom, candidates: Sequence[ReclaimCandidate], now: datetime) -> Alternative:
    verdict, _ = choose(option.demand, headroom, candidates, deadline=now, now=now)
    return Alternative(
        name=option.name,
        verdict=verdict,
        tokens=option.demand.tokens,
        demand_bytes=option.demand.final_bytes,
        peak_bytes=option.demand.peak_bytes,
        basis=option.basis,
        note=option.note,
    )


def _offer(candidate: ReclaimCandidate, now: datetime) -> ReclaimOffer:
    return ReclaimOffer(
        name=candidate.name,
        allocated_bytes=candidate.occupied_bytes,
        freed_bytes=candidate.freed_bytes,
        available_at=max(now, candidate.available_at or now),
    )
