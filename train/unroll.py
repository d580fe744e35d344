"""The training-time test: the draft is trained on its own states, as it will draft, for several steps at every token.

At place t, step k reads the embedding of token t + 1 + k beside the state of the step before (in step 0 the target's
own, fused) and learns what the target says after that token, so of token t + 2 + k. Attention is that of drafting: the
columns are the places up to t with the target's states; what place t was in steps 1 to k are its own diagonals.
Positions are t + k.

A place counts in a step when the token it speaks of is under the loss mask and the target's choice is among the draft's
tokens. Losses are sums over those places; whoever trains divides by how many they are, on all processes together:
neither padding nor other people's turns then change how strong a step is. (SpecForge divides by all places, and takes
the mask of place t + k instead.)

Shape suffixes: B records, L places, W captured states side by side, H hidden size, D draft tokens, S steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from train.attention import KeyValues
from train.draft import DraftModel, Step
from train.teacher import Lesson, Teacher

STEPS = 7
DECAY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Records padded at their ends. `learned` bool [B, L]: real tokens under the loss mask; `final` None without it."""

    token_ids: torch.Tensor
    learned: torch.Tensor
    aux: torch.Tensor
    final: torch.Tensor | None

    def to(self, device: torch.device) -> "Batch":
        """Return it on a device."""
        final = None if self.final is None else self.final.to(device, non_blocking=True)
        return Batch(
            token_ids=self.token_ids.to(device, non_blocking=True),
            learned=self.learned.to(device, non_blocking=True),
            aux=self.aux.to(device, non_blocking=True),
            final=final,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Sums over the places of a batch, for each step: float32 [S]. Only `losses` has a gradient.

    `counted` places bear a loss, `learned` ones are under the loss mask (those whose token the draft cannot say
    included), at `hits` the draft chose as the target, at `chains` it did so in this step and all before: what greedy
    verification would accept.
    """

    losses: torch.Tensor
    counted: torch.Tensor
    learned: torch.Tensor
    hits: torch.Tensor
    chains: torch.Tensor


class Unroll(nn.Module):
    """The draft under training: a batch in, sums for each step out. Its only parameters are the draft's."""

    def __init__(self, draft: DraftModel, teacher: Teacher, *, steps: int = STEPS) -> None:
        super().__init__()
        self.draft = draft
        self.teacher = teacher
        self.steps = steps

    def forward(self, batch: Batch) -> Sums:
        """Return the sums of a batch."""
        lesson = self.teacher(batch.token_ids, batch.final, self.draft.t2d)
        chain_BL = torch.ones_like(batch.learned)
        rows = []
        for ahead, step in enumerate(unrolled(self.draft, batch, steps=self.steps)):
            row, chain_BL = self._judge(step.logits, batch, lesson, chain_BL, ahead)
            rows.append(row)
        return Sums(**{name: torch.stack([row[name] for row in rows]) for name in rows[0]})

    def _judge(
        self, logits_BLD: torch.Tensor, batch: Batch, lesson: Lesson, chain_BL: torch.Tensor, ahead: int
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        places = max(0, batch.token_ids.shape[1] - 2 - ahead)
        logits_BLD = logits_BLD[:, :places].float()
        told_BL = lesson.told[:, 1 + ahead :][:, :places]
        learned_BL = batch.learned[:, 2 + ahead :]
        counted_BL = learned_BL & self.draft.t2d[told_BL]
        losses_BL = logits_BLD.logsumexp(-1) - self._expected(logits_BLD, lesson, told_BL, ahead)
        hits_BL = learned_BL & (self.draft.target_ids(logits_BLD.argmax(-1)) == told_BL)
        chain_BL = chain_BL[:, :places] & hits_BL
        sums = {
            "losses": torch.where(counted_BL, losses_BL, 0.0).sum(),
            "counted": counted_BL.sum().float(),
            "learned": learned_BL.sum().float(),
            "hits": hits_BL.sum().float(),
            "chains": chain_BL.sum().float(),
        }
        return sums, chain_BL

    def _expected(self, logits_BLD: torch.Tensor, lesson: Lesson, told_BL: torch.Tensor, ahead: int) -> torch.Tensor:
        """Return the mean logit [B, L] under what is to be learned."""
        if lesson.probabilities is not None:
            return (lesson.probabilities[:, 1 + ahead :][:, : logits_BLD.shape[1]] * logits_BLD).sum(-1)
        draft_ids_V = self.draft.t2d.cumsum(0) - 1
        return logits_BLD.gather(-1, draft_ids_V[told_BL].clamp(min=0)[..., None]).squeeze(-1)


def unrolled(draft: DraftModel, batch: Batch, *, steps: int) -> Iterator[Step]:
    """Yield the steps, each at all places at once; behind a record's end they are meaningless."""
    token_ids_BL = batch.token_ids
    hidden_BLH = draft.fuse(batch.aux.to(draft.embed_tokens.dtype))
    places_BL = torch.arange(token_ids_BL.shape[1], device=token_ids_BL.device).expand_as(token_ids_BL)
    past: KeyValues | None = None
    causal_BLT = places_BL[:1, :, None] >= places_BL[:1, None, :]
    for ahead in range(steps):
        token_ids_BL = functional.pad(token_ids_BL[:, 1:], (0, 1))
        step = draft.step(
            draft.embed(token_ids_BL),
            hidden_BLH,
            positions_BL=places_BL + ahead,
            past=past,
            mask_BLT=causal_BLT,
            diagonal=ahead > 0,
        )
        hidden_BLH, past = step.hidden, step.past
        yield step
