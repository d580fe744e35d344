"""Several stages one after the other: what each volume holds at its fullest, and when.

A stage begins when the one before it has finished. What it leaves stays until a later stage that `frees` it is over.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from artifactctl.capacity.calibration import Basis
from artifactctl.capacity.demand import Demand, DemandPart, Stage
from artifactctl.capacity.growth import GrowthPoint
from artifactctl.capacity.headroom import Headroom
from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.capacity.verdict import CapacityPlan, judge
from artifactctl.domain.errors import UsageError
from artifactctl.domain.suggestions import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStage:
    """One stage on one volume. `frees` names earlier stages whose output is removed when this one has finished."""

    name: str
    volume: str
    demand: Demand
    frees: tuple[str, ...] = ()
    basis: Basis = Basis.ASSUMED
    basis_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpan:
    """What the stage's volume holds of the pipeline around one stage; `starts_after` None where no rate is known."""

    name: str
    volume: str
    starts_after: timedelta | None
    duration: timedelta | None
    before_bytes: int
    peak_bytes: int
    after_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeNeed:
    """The pipeline's demand on one volume, and the stage during which it peaks."""

    volume: str
    demand: Demand
    peak_stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The whole pipeline: its stages in order, and what each volume must hold."""

    spans: tuple[StageSpan, ...]
    needs: tuple[VolumeNeed, ...]


@dataclass(slots=True)
class _Volume:
    """The running account of one volume while the stages are played through."""

    kept: dict[str, DemandPart] = field(default_factory=dict)
    files: int = 0
    peak_bytes: int = 0
    peak_stage: str = ""
    growth: list[GrowthPoint] = field(default_factory=list)

    @property
    def occupied_bytes(self) -> int:
        return sum(part.part_bytes for part in self.kept.values())

    def rise(self, stage: str, peak_bytes: int, *, start: timedelta | None, end: timedelta | None) -> None:
        if start is not None and end is not None:
            self.growth.append(GrowthPoint(after=start, occupied_bytes=self.occupied_bytes))
            self.growth.append(GrowthPoint(after=end, occupied_bytes=peak_bytes))
        if peak_bytes > self.peak_bytes:
            self.peak_bytes, self.peak_stage = peak_bytes, stage


def timeline(stages: Sequence[PipelineStage]) -> Timeline:
    """Return the account of stages run in this order, each as soon as the one before has finished."""
    _check_names(stages)
    volumes: defaultdict[str, _Volume] = defaultdict(_Volume)
    spans = []
    start: timedelta | None = timedelta(0)
    for stage in stages:
        duration = stage.demand.duration
        end = None if start is None or duration is None else start + duration
        spans.append(_play(stage, volumes, start=start, end=end))
        start = end
    needs = tuple(_need(name, volume, duration=start) for name, volume in volumes.items())
    return Timeline(spans=tuple(spans), needs=needs)


def plan_pipeline(
    stages: Sequence[PipelineStage],
    *,
    headrooms: Mapping[str, Headroom],
    now: datetime,
    candidates: Mapping[str, Iterable[ReclaimCandidate]] | None = None,
) -> tuple[CapacityPlan, ...]:
    """Return one plan for each volume of the pipeline, in the order of `timeline(stages).needs`.

    `headrooms` and `candidates` are keyed by the volume names that the stages use; a missing headroom is refused.
    """
    on_volume = candidates or {}
    basis = Basis.MEASURED if all(stage.basis is Basis.MEASURED for stage in stages) else Basis.ASSUMED
    notes = "; ".join(f"{stage.name}: {stage.basis_note}" for stage in stages if stage.basis_note)
    plans = []
    for need in timeline(stages).needs:
        if need.volume not in headrooms:
            raise UsageError(f"nothing is known of the volume `{need.volume}`", remedy="name a volume, root or path")
        plans.append(
            judge(
                need.demand,
                headroom=headrooms[need.volume],
                now=now,
                basis=basis,
                basis_note=notes,
                candidates=on_volume.get(need.volume, ()),
            )
        )
    return tuple(plans)


def _check_names(stages: Sequence[PipelineStage]) -> None:
    if not stages:
        raise UsageError("the pipeline has no stages", remedy="add at least one [[stage]]")
    earlier: list[str] = []
    for stage in stages:
        if stage.name in earlier:
            raise UsageError(f"two stages are called `{stage.name}`", remedy="give each stage a name of its own")
        for freed in stage.frees:
            if freed not in earlier:
                raise UsageError(
                    f"stage `{stage.name}` frees `{freed}`, which is no stage before it",
                    remedy=did_you_mean(freed, earlier) or "name a stage that comes earlier in the file",
                )
        earlier.append(stage.name)


def _play(
    stage: PipelineStage, volumes: defaultdict[str, _Volume], *, start: timedelta | None, end: timedelta | None
) -> StageSpan:
    demand = stage.demand
    volume = volumes[stage.volume]
    before_bytes = volume.occupied_bytes
    staged_here = sum(scratch.staging_bytes for scratch in demand.elsewhere if scratch.volume == stage.volume)
    peak_bytes = before_bytes + demand.peak_bytes + staged_here
    volume.rise(stage.name, peak_bytes, start=start, end=end)
    for scratch in demand.elsewhere:
        if scratch.volume != stage.volume:
            other = volumes[scratch.volume]
            other.rise(stage.name, other.occupied_bytes + scratch.staging_bytes, start=start, end=end)
    volume.kept[stage.name] = DemandPart(name=stage.name, part_bytes=demand.final_bytes)
    volume.files += demand.files
    for freed in stage.frees:
        for holding in volumes.values():
            holding.kept.pop(freed, None)
    return StageSpan(
        name=stage.name,
        volume=stage.volume,
        starts_after=start,
        duration=demand.duration,
        before_bytes=before_bytes,
        peak_bytes=peak_bytes,
        after_bytes=volume.occupied_bytes,
    )


def _need(name: str, volume: _Volume, *, duration: timedelta | None) -> VolumeNeed:
    """Return the account as a demand; without a known duration of every stage there is no growth to time."""
    demand = Demand(
        stage=Stage.PIPELINE,
        recipe="pipeline",
        parts=tuple(volume.kept.values()),
        peak_bytes=max(volume.peak_bytes, volume.occupied_bytes),
        files=volume.files,
        duration=duration,
        growth=tuple(volume.growth) if duration is not None else (),
    )
    return VolumeNeed(volume=name, demand=demand, peak_stage=volume.peak_stage)
