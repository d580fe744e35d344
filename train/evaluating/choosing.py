"""How a token is chosen, and which proposed ones stand: greedily, or sampled without a trace of the draft.

Sampled (Leviathan et al. 2023, Chen et al. 2023): a proposed token x, drawn with q(x), stands with the chance
min(1, p(x) / q(x)); the first that falls is drawn anew from what p has beyond q. So the output is distributed as p, the
target's distribution, whatever q is. A draft that has only some of the tokens has q(x) = 0 for the others, which
therefore come from that remainder, or after the last proposal from p itself.

Shape suffixes: K proposed tokens, D draft tokens, V target tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A token of the target that a draft proposes; `odds` [V] is what it was drawn from, None when it was no draw."""

    token: int
    odds: torch.Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How many of the proposals stand, from the first on, and the target's own token after them."""

    accepted: int
    token: int


class Choosing(Protocol):
    """A way to choose."""

    def propose(self, logits_D: torch.Tensor) -> tuple[int, torch.Tensor | None]:
        """Return a token of the draft, and the odds [D] that it was drawn with."""
        ...

    def verify(self, proposals: Sequence[Proposal], logits_KV: torch.Tensor) -> Verdict:
        """Return which of K proposals stand; `logits_KV` has K + 1 rows, the target's after each place before one."""
        ...


class Greedy:
    """The most probable token, always."""

    def propose(self, logits_D: torch.Tensor) -> tuple[int, torch.Tensor | None]:
        """Return the most probable token of the draft."""
        return int(logits_D.argmax()), None

    def verify(self, proposals: Sequence[Proposal], logits_KV: torch.Tensor) -> Verdict:
        """Let those stand that the target would have chosen."""
        chosen = logits_KV.argmax(dim=-1).tolist()
        wrong = (place for place, proposal in enumerate(proposals) if proposal.token != chosen[place])
        accepted = next(wrong, len(proposals))
        return Verdict(accepted=accepted, token=chosen[accepted])


class Sampling:
    """Draws at a temperature above 0; the same seed draws the same."""

    def __init__(self, temperature: float, *, seed: int) -> None:
        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(seed)

    def propose(self, logits_D: torch.Tensor) -> tuple[int, torch.Tensor | None]:
        """Draw a token of the draft."""
        odds_D = self._odds(logits_D)
        return self._draw(odds_D), odds_D

    def verify(self, proposals: Sequence[Proposal], logits_KV: torch.Tensor) -> Verdict:
        """Let each stand by chance, so that the output is distributed as the target's."""
        odds_KV = self._odds(logits_KV)
        for place, proposal in enumerate(proposals):
            if proposal.odds is None:
                raise ValueError("a proposal that was not drawn cannot be judged by chance")
            p_V, q_V = odds_KV[place], proposal.odds
            chance = torch.rand((), generator=self._generator, dtype=p_V.dtype)
            if chance * q_V[proposal.token] < p_V[proposal.token]:
                continue
            beyond_V = (p_V - q_V).clamp(min=0)
            return Verdict(accepted=place, token=self._draw(beyond_V))
        return Verdict(accepted=len(proposals), token=self._draw(odds_KV[len(proposals)]))

    def _odds(self, logits: torch.Tensor) -> torch.Tensor:
        """Return probabilities in float64 on the CPU, where the generator is."""
        return (logits.cpu().double() / self._temperature).softmax(dim=-1)

    def _draw(self, odds: torch.Tensor) -> int:
        return int(torch.multinomial(odds, 1, generator=self._generator))
