"""What a trainer wrote about a checkpoint: step, metrics, which checkpoint was the best.

Numbers become metrics so that checkpoints sort by step as numbers (checkpoint-900 before checkpoint-1000), never by
name.
"""

import math
from dataclasses import dataclass
from typing import Any

from artifactctl.recognition.views import FolderView

LARGEST_STATE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """Facts for a sighting."""

    metrics: tuple[tuple[str, float], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()


def read_training_state(view: FolderView) -> TrainingState:
    """Return what `trainer_state.json` (transformers) or `val_metrics.json` (speculators) say."""
    if b"trainer_state.json" in view.files:
        return _transformers(view)
    content = view.json_object(b"val_metrics.json", largest_bytes=LARGEST_STATE_BYTES)
    if content is None:
        return TrainingState()
    epoch = (("epoch", float(view.name)),) if view.name.isdigit() else ()
    return TrainingState(metrics=(*epoch, *_numbers(content)))


def _transformers(view: FolderView) -> TrainingState:
    content = view.json_object(b"trainer_state.json", largest_bytes=LARGEST_STATE_BYTES)
    if content is None:
        return TrainingState(problems=("trainer_state.json: it cannot be read as JSON",))
    metrics: dict[str, float] = {}
    for key, name in (("global_step", "step"), ("epoch", "epoch"), ("best_metric", "best_metric")):
        if (value := _number(content.get(key))) is not None:
            metrics[name] = value
    metrics |= {name: value for name, value in _last_evaluation(content).items() if name not in metrics}
    return TrainingState(metrics=tuple(metrics.items()), details=_best(content, view.name))


def _best(content: dict[str, Any], folder: bytes) -> tuple[tuple[str, str], ...]:
    best = content.get("best_model_checkpoint")
    if not isinstance(best, str) or not best:
        return ()
    is_best = best.rstrip("/").rpartition("/")[2].encode("utf-8", "surrogateescape") == folder
    return (("best_model_checkpoint", best), *((("is_best", "yes"),) if is_best else ()))


def _last_evaluation(content: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the newest log entry with an evaluation, else of the newest entry."""
    history = content.get("log_history")
    entries = [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []
    evaluated = [entry for entry in entries if any(str(key).startswith("eval_") for key in entry)]
    newest = (evaluated or entries or [{}])[-1]
    return dict(_numbers({key: value for key, value in newest.items() if key != "step"}))


def _numbers(content: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple((str(key), number) for key, value in content.items() if (number := _number(value)) is not None)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
