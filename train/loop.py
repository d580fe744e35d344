"""The training loop: batches in, steps made, numbers told.

A step's loss is the sum over the unroll of weight_k x (sum of losses_k / places counted_k), both over all records of
the step, whichever processes have them: so one process and several make the same step.

Shape suffixes: S steps of the unroll.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields

import torch

from artifactctl.domain.errors import CheckFailed
from train.optimizing import learning_rate, set_rate
from train.processes import Processes
from train.settings import TrainingSettings
from train.unroll import Batch, Sums, Unroll

Metrics = dict[str, float]
_PARTS = tuple(field.name for field in fields(Sums))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the loop calls: `stepped` after each step, `evaluated` and `checkpoint` with the steps made by then.

    `should_stop` is asked after each step; a stop writes a last checkpoint.
    """

    stepped: Callable[[int, Metrics], None]
    evaluated: Callable[[int, Metrics], None]
    checkpoint: Callable[[int, Mapping[str, float]], None]
    should_stop: Callable[[], bool]


def train(
    unroll: Unroll,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[Batch],
    held_out: Iterable[Batch],
    settings: TrainingSettings,
    together: Processes,
    hooks: Hooks,
    *,
    first_step: int = 0,
) -> int:
    """Make the steps from `first_step` on, one for each batch; return how many were made in all by then."""
    module = together.shared(unroll)
    weights_S = settings.unroll_decay ** torch.arange(settings.unroll_steps, device=together.device)
    parameters = list(unroll.draft.parameters())
    measured: Metrics = {}
    step = first_step

    for batch in batches:
        set_rate(optimizer, learning_rate(step, settings))
        with _computing(settings, together):
            sums = module(batch.to(together.device))
        totals = _totals(sums, together)
        loss = (weights_S * sums.losses / totals["counted"].clamp(min=1)).sum()
        (loss * together.count).backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
        _require_finite(norm, step)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        step += 1
        told = _metrics(totals, weights_S)
        hooks.stepped(step, told | {"rate": learning_rate(step - 1, settings), "norm": float(norm)})

        is_last = step == settings.steps or together.any_wants(hooks.should_stop())
        if step % settings.evaluate_every == 0 or is_last:
            measured = evaluate(unroll, held_out, settings, together)
            hooks.evaluated(step, measured)
        if step % settings.checkpoint_every == 0 or is_last:
            hooks.checkpoint(step, {"loss": told["loss"], **{f"eval_{name}": at for name, at in measured.items()}})
        if is_last:
            break
    return step


@torch.no_grad()
def evaluate(unroll: Unroll, held_out: Iterable[Batch], settings: TrainingSettings, together: Processes) -> Metrics:
    """Return the metrics over the held-out records, {} where there are none."""
    weights_S = settings.unroll_decay ** torch.arange(settings.unroll_steps, device=together.device)
    totals = {name: torch.zeros(settings.unroll_steps, device=together.device) for name in _PARTS}
    for batch in held_out:
        with _computing(settings, together):
            sums = unroll(batch.to(together.device))
        for name in _PARTS:
            totals[name] += getattr(sums, name)
    totals = {name: together.summed(total) for name, total in totals.items()}
    return _metrics(totals, weights_S) if float(totals["learned"][0]) else {}


def _totals(sums: Sums, together: Processes) -> dict[str, torch.Tensor]:
    stacked = together.summed(torch.stack([getattr(sums, name).detach() for name in _PARTS]))
    return dict(zip(_PARTS, stacked, strict=True))


def _metrics(totals: Mapping[str, torch.Tensor], weights_S: torch.Tensor) -> Metrics:
    """Return loss and accuracy at each step of the unroll, and `accepted`.

    `accepted` is how many drafted tokens greedy verification takes on average at a learned place, as far as the text is
    what the target would say: what `train eval` measures with the target itself.
    """
    losses_S = totals["losses"] / totals["counted"].clamp(min=1)
    accuracy_S = totals["hits"] / totals["learned"].clamp(min=1)
    found = {"loss": float((weights_S * losses_S).sum())}
    found |= {f"loss_{at}": float(loss) for at, loss in enumerate(losses_S)}
    found |= {f"accuracy_{at}": float(share) for at, share in enumerate(accuracy_S)}
    return {**found, "accepted": float(totals["chains"].sum() / totals["learned"][0].clamp(min=1))}


def _computing(settings: TrainingSettings, together: Processes) -> AbstractContextManager[object]:
    return torch.autocast(together.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bf16")


def _require_finite(norm: torch.Tensor, step: int) -> None:
    if not math.isfinite(float(norm)):
        raise CheckFailed(
            f"the gradient of step {step} is not finite",
            remedy='--resume goes on from the last checkpoint; lower learning_rate, or precision = "fp32"',
        )
