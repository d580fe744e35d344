"""What a stage will write to one volume: when finished, at its peak, in how many files, and how fast."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from fractions import Fraction
from math import ceil, inf

from artifactctl.capacity.growth import GrowthPoint, steady_growth
from artifactctl.capacity.recipes import PACKED, ExtractionRecipe, FileLayout
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import LONGEST_DURATION

WEIGHT_BYTES = 2
"""Draft weights are kept in bf16."""

OPTIMIZER_BYTES = 12
"""A resumable checkpoint also keeps the float32 master and two moments of every parameter."""

FILES_PER_CHECKPOINT = 8
"""Weights, optimizer, scheduler, random state, config, trainer state, map and their folder."""

FOLDERS_OF_A_STAGE = 2
"""A stage's own folder and its manifest."""


_OVERHEAD = "headers and block rounding"


class Stage(StrEnum):
    """The kinds of demand."""

    EXTRACTION = "extraction"
    TRAINING = "training"
    RUNNING = "running"
    PIPELINE = "pipeline"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandPart:
    """One named share of what stays on disk."""

    name: str
    part_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingElsewhere:
    """Scratch space on another volume (/dev/shm, TMPDIR, a cache quota): a demand of its own while the stage runs."""

    volume: str
    staging_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The need of one stage on one volume. `parts` add up to `final_bytes`; `peak_bytes` also holds staging.

    `duration` is None where no rate is known, and then `growth` is empty.
    """

    stage: Stage
    recipe: str
    parts: tuple[DemandPart, ...]
    peak_bytes: int
    files: int
    tokens: int | None = None
    bytes_per_token: int | None = None
    duration: timedelta | None = None
    growth: tuple[GrowthPoint, ...] = ()
    elsewhere: tuple[StagingElsewhere, ...] = ()

    def __post_init__(self) -> None:
        if any(part.part_bytes < 0 for part in self.parts) or self.peak_bytes < self.final_bytes or self.files < 0:
            raise ValueError(f"the demand of `{self.recipe}` is negative or peaks below what stays")

    @property
    def final_bytes(self) -> int:
        """Bytes that stay when the stage has finished."""
        return sum(part.part_bytes for part in self.parts)


def extraction_demand(
    recipe: ExtractionRecipe,
    *,
    tokens: int,
    layout: FileLayout = PACKED,
    codec_ratio: float = 1.0,
    records: int | None = None,
    tokens_per_second: float | None = None,
    block_bytes: int = 4096,
    staging_bytes: int = 0,
) -> Demand:
    """Return what the states of `tokens` tokens need.

    stored tokens x (states + ids + mask) x codec ratio + files x (header + half a block). Writing aside and renaming
    costs nothing on top; `staging_bytes` is what a writer keeps beside its output until it ends.
    """
    if tokens < 1:
        raise UsageError("there are no tokens to extract", remedy="give --tokens 87.8M, or a corpus that has records")
    if not 0 < codec_ratio < inf:
        raise UsageError(f"a codec ratio of {codec_ratio} is impossible", remedy="leave it out to plan without a codec")
    stored_tokens = ceil(tokens * layout.padding)
    state_bytes = ceil(stored_tokens * recipe.bytes_per_token * Fraction(codec_ratio))
    label_bytes = ceil(stored_tokens * layout.label_bytes * Fraction(codec_ratio))
    shards = layout.file_count(state_bytes + label_bytes, records=records)
    overhead_bytes = shards * (layout.header_bytes + block_bytes // 2) + FOLDERS_OF_A_STAGE * block_bytes
    parts = _parts(("hidden states", state_bytes), ("ids and masks", label_bytes), (_OVERHEAD, overhead_bytes))
    peak_bytes = state_bytes + label_bytes + overhead_bytes + staging_bytes
    duration = None if tokens_per_second is None else _duration(tokens, tokens_per_second)
    return Demand(
        stage=Stage.EXTRACTION,
        recipe=recipe.key,
        parts=parts,
        peak_bytes=peak_bytes,
        files=shards + FOLDERS_OF_A_STAGE,
        tokens=tokens,
        bytes_per_token=recipe.bytes_per_token,
        duration=duration,
        growth=steady_growth(peak_bytes, duration),
    )


def training_demand(
    *,
    draft_parameters: int,
    keep: int,
    tokens: int | None = None,
    tokens_per_second: float | None = None,
    staging_bytes: int = 0,
) -> Demand:
    """Return what a training run needs: kept checkpoints and the export stay, one more is being written at the peak.

    A resumable checkpoint is weights + fp32 master + two moments: 14 bytes a parameter. The export is the weights.
    """
    if draft_parameters < 1:
        raise UsageError("a draft model has at least one parameter", remedy="give --draft-params 2.6B")
    if keep < 1:
        raise UsageError(f"keeping {keep} checkpoints leaves nothing to resume from", remedy="give --keep 1 or more")
    checkpoint_bytes = draft_parameters * (WEIGHT_BYTES + OPTIMIZER_BYTES)
    kept_bytes = keep * checkpoint_bytes
    export_bytes = draft_parameters * WEIGHT_BYTES
    peak_bytes = kept_bytes + checkpoint_bytes + export_bytes + staging_bytes
    duration = None if tokens is None or tokens_per_second is None else _duration(tokens, tokens_per_second)
    return Demand(
        stage=Stage.TRAINING,
        recipe=training_key(draft_parameters),
        parts=_parts((f"checkpoints kept ({keep})", kept_bytes), ("draft export", export_bytes)),
        peak_bytes=peak_bytes,
        files=(keep + 2) * FILES_PER_CHECKPOINT + FOLDERS_OF_A_STAGE,
        tokens=tokens,
        duration=duration,
        growth=steady_growth(peak_bytes, duration),
    )


def training_key(draft_parameters: int) -> str:
    """Return what finished training runs must share to count as the same recipe."""
    return f"training {draft_parameters}"


def running_demand(
    *,
    remaining_bytes: int,
    bytes_per_second: float | None,
    remaining_tokens: int | None = None,
    remaining_files: int = 0,
) -> Demand:
    """Return what a job that is already writing has still to write, at the rate measured on disk."""
    if remaining_bytes < 0:
        raise UsageError(
            "the job has written more than it was said to write", remedy="give its whole --bytes or --tokens"
        )
    duration = timedelta(0) if remaining_bytes == 0 else None
    if remaining_bytes and bytes_per_second:
        duration = _duration(remaining_bytes, bytes_per_second)
    return Demand(
        stage=Stage.RUNNING,
        recipe="running job",
        parts=(DemandPart(name="still to be written", part_bytes=remaining_bytes),),
        peak_bytes=remaining_bytes,
        files=remaining_files,
        tokens=remaining_tokens,
        bytes_per_token=remaining_bytes // remaining_tokens if remaining_tokens else None,
        duration=duration,
        growth=steady_growth(remaining_bytes, duration),
    )


def other_demand(*, name: str, writes_bytes: int, staging_bytes: int = 0, duration: timedelta | None = None) -> Demand:
    """Return the demand of a stage whose bytes somebody states."""
    peak_bytes = writes_bytes + staging_bytes
    return Demand(
        stage=Stage.OTHER,
        recipe=name,
        parts=(DemandPart(name=name, part_bytes=writes_bytes),),
        peak_bytes=peak_bytes,
        files=FOLDERS_OF_A_STAGE,
        duration=duration,
        growth=steady_growth(peak_bytes, duration),
    )


def _parts(*named: tuple[str, int]) -> tuple[DemandPart, ...]:
    return tuple(DemandPart(name=name, part_bytes=part_bytes) for name, part_bytes in named)


def _duration(amount: int, per_second: float) -> timedelta | None:
    """Return how long `amount` takes; None where that is no rate, or one too slow to finish within a century."""
    if not per_second > 0 or amount / per_second > LONGEST_DURATION.total_seconds():
        return None
    return timedelta(seconds=amount / per_second)
