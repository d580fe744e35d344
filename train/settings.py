"""How a draft is trained: what a TOML file may say, with the defaults of the field."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from artifactctl.domain.errors import UsageError
from artifactctl.domain.suggestions import did_you_mean

_REMEDY = "artifactctl train run --help lists what a file may say"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """All that decides a run besides its inputs.

    `records_a_step` are those of all processes together. `learning_rate` is reached after `warmup_share` of all steps
    and then follows a cosine to zero. `unroll_steps` weigh `unroll_decay`^k. `layers` name the captured boundaries of a
    dump that does not say them itself. `intermediate_size` 0 is the target's. `initial_head` "target" begins with the
    rows of the target's own head and its final norm, "random" with drawn ones. `kept_checkpoints` is what the planner
    reckons with; what really stays is decided by policies. `workers` read ahead.
    """

    steps: int = 1000
    seed: int = 0
    records_a_step: int = 8
    longest_tokens: int = 2048
    precision: str = "bf16"
    learning_rate: float = 1e-4
    warmup_share: float = 0.015
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.95
    clip_norm: float = 0.5
    unroll_steps: int = 7
    unroll_decay: float = 0.8
    held_out: float = 0.05
    evaluate_every: int = 200
    evaluation_records: int = 64
    checkpoint_every: int = 500
    kept_checkpoints: int = 3
    layers: tuple[int, ...] = ()
    intermediate_size: int = 0
    initial_head: str = "target"
    device: str = "auto"
    workers: int = 2

    def __post_init__(self) -> None:
        counts = {
            name: getattr(self, name)
            for name in ("steps", "records_a_step", "longest_tokens", "unroll_steps", "evaluate_every")
        }
        counts |= {"checkpoint_every": self.checkpoint_every, "kept_checkpoints": self.kept_checkpoints}
        for name, count in counts.items():
            if count < 1:
                raise UsageError(f"{name} = {count} trains nothing", remedy=f"write {name} = 1 or more")
        shares = {"warmup_share": self.warmup_share, "held_out": self.held_out, "unroll_decay": self.unroll_decay}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name} = {share} is no share", remedy="write a number from 0 to 1")
        if self.learning_rate <= 0 or self.clip_norm <= 0 or self.workers < 0 or self.evaluation_records < 0:
            raise UsageError("a rate, a norm or a count is negative or zero", remedy=_REMEDY)
        for name, allowed in (("precision", ("bf16", "fp32")), ("initial_head", ("target", "random"))):
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name} = {getattr(self, name)!r}", remedy=f"write one of {', '.join(allowed)}")

    def as_json(self) -> dict[str, Any]:
        """Return them as they stand in a checkpoint."""
        return {**asdict(self), "layers": list(self.layers)}

    @classmethod
    def of_values(cls, values: Mapping[str, Any], *, source: str) -> "TrainingSettings":
        """Return settings with those values; UsageError, naming the source, for unknown names and wrong types."""
        known = {field.name: field for field in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise UsageError(f"{source}: nothing is called `{name}`", remedy=did_you_mean(name, list(known)))
            kind = type(known[name].default)
            fits = (
                isinstance(value, list) if kind is tuple else isinstance(value, (int, float) if kind is float else kind)
            )
            if not fits or isinstance(value, bool):
                raise UsageError(f"{source}: {name} = {value!r} is no {kind.__name__}", remedy=_REMEDY)
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**read)


def read_settings(file: Path | None, *, steps: int | None) -> TrainingSettings:
    """Return what the file says, with `steps` over it; UsageError with the file's name."""
    if file is None:
        return TrainingSettings() if steps is None else TrainingSettings(steps=steps)
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}", remedy="give a TOML file") from error
    return TrainingSettings.of_values(values | ({} if steps is None else {"steps": steps}), source=str(file))
