"""Which checkpoints of a run are only history; pure.

A run is the checkpoints of one folder whose names differ in numbers alone. Never offered are the newest whole one and
everything after it, and the best (by the trainer's word, else by the lowest loss). While the newest has not been quiet
for long enough to be sure that it is finished, the one before it stays as well.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.text import display_path
from artifactctl.recognition.sightings import Layout
from artifactctl.rescue.finds import Find

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_LOOKS_LIKE_CHECKPOINT = re.compile(rb"(?:ckpt|checkpoint|step|epoch|iter|model|state)", re.IGNORECASE)
_LOSSES = ("eval_loss", "val_loss", "valid_loss", "validation_loss", "loss")

IsQuiet = Callable[[Find], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """One checkpoint of a run: `goes` with the reason, or stays with it. `finished` is false for a torn one."""

    find: Find
    goes: bool
    finished: bool
    why: str


def judge_runs(finds: Iterable[Find], *, is_quiet: IsQuiet) -> tuple[RunVerdict, ...]:
    """Return a verdict for every checkpoint; one that is alone in its run stays."""
    runs: dict[tuple[bytes, bytes], list[Find]] = defaultdict(list)
    for find in finds:
        if is_checkpoint(find):
            runs[find.folder, _NUMBER.sub(b"#", find.name)].append(find)
    return tuple(verdict for run in runs.values() for verdict in _judge(run, is_quiet))


def is_checkpoint(find: Find) -> bool:
    """Whether it is a checkpoint, or a numbered torch file that is named like one."""
    if find.kind is ArtifactKind.CHECKPOINT:
        return True
    is_torch = find.layout is Layout.TORCH_FILE and not find.is_directory
    return is_torch and bool(_NUMBER.search(find.name) and _LOOKS_LIKE_CHECKPOINT.search(find.name))


def order_of(find: Find) -> tuple[float, ...]:
    """Return where it stands in its run: by step, else by the numbers in its name, else by time."""
    step = find.metric("step")
    numbers = tuple(float(number) for number in _NUMBER.findall(find.name))
    return (step, *numbers) if step is not None else numbers or (find.modified_at.timestamp(),)


def _judge(run: Sequence[Find], is_quiet: IsQuiet) -> Iterable[RunVerdict]:
    ordered = sorted(run, key=order_of)
    whole = [find for find in ordered if find.is_whole]
    if whole and not is_quiet(whole[-1]):
        whole.pop()
    best = _best(ordered)
    for index, find in enumerate(ordered):
        newer = [other for other in whole if order_of(other) > order_of(find)]
        finished = find.is_whole
        if find is best:
            yield RunVerdict(find=find, goes=False, finished=finished, why="the best of its run")
        elif not newer:
            why = "the last of its run" if index == len(ordered) - 1 else "no whole checkpoint is newer"
            yield RunVerdict(find=find, goes=False, finished=finished, why=why)
        else:
            yield RunVerdict(find=find, goes=True, finished=finished, why=_history(find, newer))


def _history(find: Find, newer: Sequence[Find]) -> str:
    last = display_path(newer[-1].name)
    if not find.is_whole:
        what = find.problems[0] if find.problems else "something was still being written"
        return f"never finished ({what}), and {last} is whole"
    rest = f" and {len(newer) - 1} more" if len(newer) > 1 else ""
    return f"older checkpoint: its run has {last}{rest}, whole and newer"


def _best(run: Sequence[Find]) -> Find | None:
    """Return the one the trainer calls best, else the one with the lowest loss; None when neither is said."""
    for find in run:
        if find.detail("is_best") == "yes":
            return find
    named = {find.detail("best_model_checkpoint").rstrip("/").rpartition("/")[2] for find in run} - {""}
    for find in run:
        if display_path(find.name) in named:
            return find
    for loss in _LOSSES:
        measured = [(value, find) for find in run if (value := find.metric(loss)) is not None]
        if measured:
            return min(measured, key=lambda pair: pair[0])[1]
    return None
