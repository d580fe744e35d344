"""The draft at work: one pass over what the target has verified, then a chain of its own tokens.

The pass pairs the target's states at each token with the token after it, as in training; its last row gives the first
proposal. Each further one continues from the hidden state of the one before, at the next position. What the chain
attended to is forgotten afterwards: the verified tokens come again with the target's own states.

Shape suffixes: B one record, T tokens since the last round, W width of the captured states, D draft tokens, V target's.
"""

from collections.abc import Sequence

import torch

from train.attention import KeyValues
from train.draft import DraftModel, Step
from train.evaluating.choosing import Choosing, Proposal


class ChainDrafter:
    """Proposes with a draft model, which is in inference mode and has its embedding in its own element type."""

    def __init__(self, model: DraftModel) -> None:
        self._model = model
        self._past: KeyValues | None = None

    def begin(self) -> None:
        """Forget everything."""
        self._past = None

    def propose(
        self, states_TW: torch.Tensor, ids_after: Sequence[int], *, count: int, choosing: Choosing
    ) -> list[Proposal]:
        """Propose `count` tokens after the last of `ids_after`."""
        model = self._model
        with torch.inference_mode():
            hidden_BTH = model.fuse(states_TW[None].to(model.fc.weight))
            step = self._step(ids_after, hidden_BTH, self._past)
            self._past = step.past
            proposals = [self._choose(step, choosing)]
            while len(proposals) < count:
                step = self._step([proposals[-1].token], step.hidden[:, -1:], step.past)
                proposals.append(self._choose(step, choosing))
        return proposals

    def _step(self, ids: Sequence[int], hidden_BTH: torch.Tensor, past: KeyValues | None) -> Step:
        begin = 0 if past is None else past.length
        device = hidden_BTH.device
        embedded_BTH = self._model.embed(torch.tensor([ids], device=device))
        positions_BT = torch.arange(begin, begin + len(ids), device=device)[None]
        return self._model.step(embedded_BTH, hidden_BTH, positions_BL=positions_BT, past=past)

    def _choose(self, step: Step, choosing: Choosing) -> Proposal:
        chosen, odds_D = choosing.propose(step.logits[0, -1])
        token = chosen + int(self._model.d2t[chosen])
        if odds_D is None:
            return Proposal(token=token)
        odds_V = torch.zeros(len(self._model.t2d), dtype=odds_D.dtype)
        odds_V[self._model.t2d.cpu()] = odds_D
        return Proposal(token=token, odds=odds_V)


class ConstantDrafter:
    """Proposes the same token always: what a draft is worth that knows frequencies and nothing else."""

    def __init__(self, token: int) -> None:
        self._token = token

    def begin(self) -> None:
        """There is nothing to forget."""

    def propose(
        self, states_TW: torch.Tensor, ids_after: Sequence[int], *, count: int, choosing: Choosing
    ) -> list[Proposal]:
        """Propose it `count` times."""
        return [Proposal(token=self._token)] * count
