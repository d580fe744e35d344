"""What the draft is to say: the target's distribution after each token, or where that is unknown, the next token.

- With the final state in the data the distribution is the target's own, by its frozen head, restricted to the draft's
  vocabulary and normalised there (soft labels).
- With the captured layers alone only the token that came next is known (hard labels). A draft learns which token was
  written, not how likely the others were: it needs more data for the same acceptance, most of all under sampling, and
  where the text is not the target's own answer it learns to say what the target would not.

The distribution after token s is at place s: it tells of token s + 1.

Shape suffixes: B records, L tokens, H hidden size, V target tokens, D draft tokens, R rows at once.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from artifactctl.api.formats import FinalState
from train.target import FrozenTarget

_ROWS_AT_ONCE = 512

SOFT = "soft labels: the target's distribution over the draft's vocabulary, from the final state in the data"
HARD = (
    "hard labels: the data has no final state, so the draft learns the tokens that were written, not the target's "
    "distribution; expect lower acceptance from the same data (extract with --final-state post to have it)"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """`told` int64 [B, L] is the target's likeliest token after each, in its own vocabulary.

    `probabilities` float32 [B, L, D] over the draft's; None where only `told` is known.
    """

    told: torch.Tensor
    probabilities: torch.Tensor | None


class Teacher(nn.Module):
    """Holds the target's head, frozen and not saved; without a final state it only reads the text ahead."""

    head: torch.Tensor | None
    norm: torch.Tensor | None

    def __init__(self, target: FrozenTarget, final_state: FinalState, *, dtype: torch.dtype) -> None:
        super().__init__()
        is_soft = final_state is not FinalState.NONE
        self._epsilon = target.config.norm_epsilon
        self.register_buffer("head", target.head.to(dtype) if is_soft else None, persistent=False)
        is_before_norm = final_state is FinalState.PRE
        self.register_buffer("norm", target.norm.float() if is_before_norm else None, persistent=False)

    @property
    def says(self) -> str:
        """Which labels they are, and what that costs."""
        return HARD if self.head is None else SOFT

    @torch.no_grad()
    def forward(self, token_ids_BL: torch.Tensor, final_BLH: torch.Tensor | None, t2d_V: torch.Tensor) -> Lesson:
        """Return what is to be learned after each token."""
        if self.head is None or final_BLH is None:
            return Lesson(told=functional.pad(token_ids_BL[:, 1:], (0, 1)), probabilities=None)
        told, probabilities = [], []
        rows_RH = final_BLH.flatten(0, 1)
        for at in range(0, len(rows_RH), _ROWS_AT_ONCE):
            states_RH = rows_RH[at : at + _ROWS_AT_ONCE]
            logits_RV = functional.linear(self._as_the_head_reads(states_RH), self.head).float()
            told.append(logits_RV.argmax(-1))
            probabilities.append(logits_RV[:, t2d_V].softmax(-1))
        shape = token_ids_BL.shape
        return Lesson(told=torch.cat(told).view(shape), probabilities=torch.cat(probabilities).view(*shape, -1))

    def _as_the_head_reads(self, states_RH: torch.Tensor) -> torch.Tensor:
        assert self.head is not None
        if self.norm is None:
            return states_RH.to(self.head.dtype)
        wide = states_RH.float()
        normed = self.norm * wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self._epsilon)
        return normed.to(self.head.dtype)
