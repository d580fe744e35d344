"""What finished runs of the same recipe teach: bytes on disk for each byte predicted, and tokens per second.

Without such runs the codec ratio is 1 and the rate that of the founding run, for its model only: a slow prior would
promise a smaller model's disk more time than it has.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from artifactctl.capacity.presets import DEFAULT_PRESET, preset
from artifactctl.capacity.recipes import PACKED, Codec, ExtractionRecipe, FileLayout

FOUNDING_TOKENS = 23_070_000
FOUNDING_SECONDS = 19 * 3600.0
"""The founding extraction: 23.07 M tokens of Kimi-K2.5 in 19 hours."""

STATED_TOKENS_TOLERANCE = 0.02
"""Token counts are often stated rounded; without a codec a ratio this close to 1 is 1."""

SAME_RECIPE_TOLERANCE = 0.01
"""A run that recorded no recipe counts when its bytes per token are this close to the recipe's."""


class Basis(StrEnum):
    """Where a figure comes from."""

    MEASURED = "measured"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run that succeeded: its recipe's key (None where nobody recorded it), what it stored, how long it took."""

    recipe: str | None
    tokens: int
    stored_bytes: int
    seconds: float | None

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.stored_bytes < 0 or (self.seconds is not None and self.seconds <= 0):
            raise ValueError(f"a finished run of {self.tokens} tokens in {self.seconds} seconds teaches nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What to plan with. `rate_runs` and `ratio_runs` count the runs behind each figure; 0 means assumed."""

    codec_ratio: float
    ratio_runs: int
    tokens_per_second: float | None
    rate_runs: int
    note: str

    @property
    def basis(self) -> Basis:
        """Measured only where some finished run stands behind the figures."""
        return Basis.MEASURED if self.ratio_runs or self.rate_runs else Basis.ASSUMED


def calibrate_extraction(
    recipe: ExtractionRecipe, runs: Iterable[FinishedRun], *, layout: FileLayout = PACKED
) -> Calibration:
    """Return ratio and rate for a recipe from the runs that share it.

    The ratio is the worst one seen, the rate that of all runs together. A run without a recorded recipe counts only
    for a recipe without codec whose bytes per token it matches.
    """
    known = tuple(runs)
    plain_bytes = recipe.bytes_per_token + layout.label_bytes
    same = tuple(run for run in known if run.recipe == recipe.key)
    by_size = () if same else tuple(run for run in known if run.recipe is None and _matches(run, recipe, plain_bytes))
    chosen = same or by_size
    if not chosen:
        return _prior(recipe)
    rate, rate_runs = pooled_rate(chosen)
    ratio = max(run.stored_bytes / (run.tokens * plain_bytes) for run in chosen)
    if recipe.codec is Codec.NONE and ratio <= 1 + STATED_TOKENS_TOLERANCE:
        ratio = 1.0
    return Calibration(
        codec_ratio=ratio,
        ratio_runs=len(chosen),
        tokens_per_second=rate,
        rate_runs=rate_runs,
        note=_runs(len(chosen)) + (", matched by bytes per token" if by_size else ""),
    )


def pooled_rate(runs: Iterable[FinishedRun]) -> tuple[float | None, int]:
    """Return (tokens per second over all timed runs together, how many those are); (None, 0) without any."""
    timed = [(run.tokens, run.seconds) for run in runs if run.seconds is not None]
    if not timed:
        return None, 0
    return sum(tokens for tokens, _ in timed) / sum(seconds for _, seconds in timed), len(timed)


def calibrate_training(key: str, runs: Iterable[FinishedRun]) -> Calibration:
    """Return the rate of the finished training runs with this key; no rate without any."""
    rate, rate_runs = pooled_rate(run for run in runs if run.recipe == key)
    note = (
        _runs(rate_runs)
        if rate_runs
        else "assumed: checkpoint sizes from the parameter count, no run to take a rate from"
    )
    return Calibration(codec_ratio=1.0, ratio_runs=0, tokens_per_second=rate, rate_runs=rate_runs, note=note)


def _matches(run: FinishedRun, recipe: ExtractionRecipe, plain_bytes: int) -> bool:
    expected_bytes = run.tokens * plain_bytes
    return (
        recipe.codec is Codec.NONE and abs(run.stored_bytes - expected_bytes) <= SAME_RECIPE_TOLERANCE * expected_bytes
    )


def _prior(recipe: ExtractionRecipe) -> Calibration:
    founding = preset(DEFAULT_PRESET)
    is_founding_model = recipe.shape.key == founding.key
    return Calibration(
        codec_ratio=1.0,
        ratio_runs=0,
        tokens_per_second=FOUNDING_TOKENS / FOUNDING_SECONDS if is_founding_model else None,
        rate_runs=0,
        note="assumed: 23.07 M tokens in 19 h, no finished run of this recipe"
        if is_founding_model
        else "assumed: no finished run of this recipe, so no rate either",
    )


def _runs(count: int) -> str:
    return f"measured, {count} run" if count == 1 else f"measured, {count} runs"
