"""From a request to a plan: demand, calibration, alternatives and verdict put together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from artifactctl.capacity.calibration import Basis, FinishedRun, calibrate_extraction, calibrate_training
from artifactctl.capacity.demand import Demand, extraction_demand, running_demand, training_demand, training_key
from artifactctl.capacity.headroom import Headroom
from artifactctl.capacity.recipes import PACKED, Codec, ElementType, ExtractionRecipe, FileLayout, FinalState
from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.capacity.verdict import CapacityPlan, Option, judge

ASSUMED_PLANES_RATIO = 0.75
"""Byte planes measured 0.69 to 0.73 on real bf16 states; planned with less until a run of the recipe says better."""

FEWER_CHECKPOINTS = (2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRequest:
    """An extraction that somebody thinks of. `records` is needed by layouts of one file per record only."""

    recipe: ExtractionRecipe
    tokens: int
    layout: FileLayout = PACKED
    records: int | None = None
    staging_bytes: int = 0
    block_bytes: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """A training run that somebody thinks of; `tokens` is all it will see, epochs included."""

    draft_parameters: int
    keep: int
    tokens: int | None = None
    staging_bytes: int = 0


def plan_extraction(
    request: ExtractionRequest,
    *,
    headroom: Headroom,
    now: datetime,
    runs: Iterable[FinishedRun] = (),
    candidates: Iterable[ReclaimCandidate] = (),
) -> CapacityPlan:
    """Return the plan of an extraction that would start now."""
    known = tuple(runs)
    demand, basis, note = demand_of_extraction(request, runs=known)
    return judge(
        demand,
        headroom=headroom,
        now=now,
        basis=basis,
        basis_note=note,
        candidates=candidates,
        options=_extraction_options(request, demand, known, headroom),
    )


def plan_training(
    request: TrainingRequest,
    *,
    headroom: Headroom,
    now: datetime,
    runs: Iterable[FinishedRun] = (),
    candidates: Iterable[ReclaimCandidate] = (),
) -> CapacityPlan:
    """Return the plan of a training run that would start now."""
    known = tuple(runs)
    demand, basis, note = demand_of_training(request, runs=known)
    options = [
        Option(
            name=f"keep_{keep}",
            demand=demand_of_training(replace(request, keep=keep), runs=known)[0],
            basis=basis,
            note="fewer checkpoints kept" if keep > 1 else "only the newest kept: a bad one cannot be undone",
        )
        for keep in FEWER_CHECKPOINTS
        if keep < request.keep
    ]
    return judge(
        demand, headroom=headroom, now=now, basis=basis, basis_note=note, candidates=candidates, options=options
    )


def plan_running(
    *,
    remaining_bytes: int,
    bytes_per_second: float | None,
    headroom: Headroom,
    now: datetime,
    remaining_tokens: int | None = None,
    remaining_files: int = 0,
    candidates: Iterable[ReclaimCandidate] = (),
) -> CapacityPlan:
    """Return the plan of a job that is already writing; its rate was measured on disk, or is None."""
    demand = running_demand(
        remaining_bytes=remaining_bytes,
        bytes_per_second=bytes_per_second,
        remaining_tokens=remaining_tokens,
        remaining_files=remaining_files,
    )
    is_measured = bytes_per_second is not None
    return judge(
        demand,
        headroom=headroom,
        now=now,
        basis=Basis.MEASURED if is_measured else Basis.ASSUMED,
        basis_note="measured on disk" if is_measured else "assumed: nothing was written while it was watched",
        candidates=candidates,
    )


def demand_of_extraction(request: ExtractionRequest, *, runs: Iterable[FinishedRun]) -> tuple[Demand, Basis, str]:
    """Return (demand, basis, note) of an extraction calibrated by the finished runs of its recipe."""
    calibration = calibrate_extraction(request.recipe, runs, layout=request.layout)
    demand = _extraction(request, calibration.codec_ratio, calibration.tokens_per_second)
    return demand, calibration.basis, calibration.note


def demand_of_training(request: TrainingRequest, *, runs: Iterable[FinishedRun]) -> tuple[Demand, Basis, str]:
    """Return (demand, basis, note) of a training run timed by the finished runs of the same draft size."""
    calibration = calibrate_training(training_key(request.draft_parameters), runs)
    demand = training_demand(
        draft_parameters=request.draft_parameters,
        keep=request.keep,
        tokens=request.tokens,
        tokens_per_second=calibration.tokens_per_second,
        staging_bytes=request.staging_bytes,
    )
    return demand, calibration.basis, calibration.note


def _extraction(request: ExtractionRequest, codec_ratio: float, tokens_per_second: float | None) -> Demand:
    return extraction_demand(
        request.recipe,
        tokens=request.tokens,
        layout=request.layout,
        codec_ratio=codec_ratio,
        records=request.records,
        tokens_per_second=tokens_per_second,
        block_bytes=request.block_bytes,
        staging_bytes=request.staging_bytes,
    )


def _extraction_options(
    request: ExtractionRequest, demand: Demand, runs: Sequence[FinishedRun], headroom: Headroom
) -> list[Option]:
    """Return lossless coding, fp8, no final state and fewer tokens, as far as each would be a change."""
    recipe = request.recipe
    rate = None if demand.duration is None else request.tokens / demand.duration.total_seconds()
    options = []
    if recipe.codec is Codec.NONE and recipe.element is not ElementType.FP8:
        options.append(_planes(replace(request, recipe=replace(recipe, codec=Codec.PLANES)), runs, rate))
    if recipe.element is not ElementType.FP8:
        smaller = replace(request, recipe=replace(recipe, element=ElementType.FP8, codec=Codec.NONE))
        options.append(_uncoded(smaller, rate, name="fp8", note="lossy: e4m3 with a scale for each token"))
    if recipe.final_state is not FinalState.NONE:
        smaller = replace(request, recipe=replace(recipe, final_state=FinalState.NONE, codec=Codec.NONE))
        options.append(_uncoded(smaller, rate, name="no_final_state", note="the teacher needs another source"))
    if not headroom.admits(peak_bytes=demand.peak_bytes, files=demand.files):
        options.extend(_fewer_tokens(request, headroom, runs))
    return options


def _planes(request: ExtractionRequest, runs: Sequence[FinishedRun], rate: float | None) -> Option:
    calibration = calibrate_extraction(request.recipe, runs, layout=request.layout)
    measured = calibration.ratio_runs > 0
    ratio = calibration.codec_ratio if measured else ASSUMED_PLANES_RATIO
    return Option(
        name="codec_planes",
        demand=_extraction(request, ratio, rate),
        basis=Basis.MEASURED if measured else Basis.ASSUMED,
        note=f"lossless, ratio {ratio:.2f} " + (calibration.note if measured else "assumed"),
    )


def _uncoded(request: ExtractionRequest, rate: float | None, *, name: str, note: str) -> Option:
    return Option(name=name, demand=_extraction(request, 1.0, rate), basis=Basis.ASSUMED, note=note)


def _fewer_tokens(request: ExtractionRequest, headroom: Headroom, runs: Sequence[FinishedRun]) -> list[Option]:
    """Return the most tokens that fit as things are, if any do."""

    def sized(tokens: int) -> tuple[Demand, Basis, str]:
        return demand_of_extraction(replace(request, tokens=tokens), runs=runs)

    def fits(tokens: int) -> bool:
        demand, _, _ = sized(tokens)
        return headroom.admits(peak_bytes=demand.peak_bytes, files=demand.files)

    most = _largest(fits, below=request.tokens)
    if most == 0:
        return []
    demand, basis, note = sized(most)
    return [Option(name="fewer_tokens", demand=demand, basis=basis, note=f"all that fits as it is; {note}")]


def _largest(fits: Callable[[int], bool], *, below: int) -> int:
    """Return the largest number under `below` that fits, 0 if not even 1 does; `fits` must not rise again."""
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
