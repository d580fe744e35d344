"""AdamW over float32 masters, its rate over the steps, and its state as named tensors."""

import math
from collections.abc import Mapping

import torch

from train.draft import DraftModel
from train.settings import TrainingSettings

MOMENTS = ("exp_avg", "exp_avg_sq")
MASTER = "master"


def optimizer_of(draft: DraftModel, settings: TrainingSettings) -> torch.optim.AdamW:
    """Return the optimizer; norms do not decay. Masters are the parameters themselves, in float32."""
    parameters = list(draft.parameters())
    groups = [
        {"params": [each for each in parameters if each.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [each for each in parameters if each.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(settings.beta1, settings.beta2))


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Return the rate of a step, counted from zero: a line up to the warm-up's end, then a cosine to zero."""
    warmup = math.ceil(settings.warmup_share * settings.steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    done = (step - warmup) / max(1, settings.steps - warmup)
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next step be made with this rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def state_tensors(draft: DraftModel, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return masters and moments by `KIND.PARAMETER`, float32 on the CPU; zero moments before the first step."""
    found: dict[str, torch.Tensor] = {}
    for name, parameter in draft.named_parameters():
        found[f"{MASTER}.{name}"] = parameter.detach().float().cpu().clone()
        for moment in MOMENTS:
            value = optimizer.state.get(parameter, {}).get(moment, torch.zeros_like(parameter))
            found[f"{moment}.{name}"] = value.detach().float().cpu().clone()
    return found


def restore(
    draft: DraftModel, optimizer: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor], *, steps_done: int
) -> None:
    """Put back what `state_tensors` gave; KeyError or RuntimeError where it is that of another draft."""
    with torch.no_grad():
        for name, parameter in draft.named_parameters():
            parameter.copy_(tensors[f"{MASTER}.{name}"])
            state = {moment: tensors[f"{moment}.{name}"].to(parameter.device).clone() for moment in MOMENTS}
            optimizer.state[parameter] = {"step": torch.tensor(float(steps_done)), **state}
