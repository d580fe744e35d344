"""Attention of the draft: over columns of keys under a mask, and over what each query itself was in earlier steps.

Positions are turned by rotary embedding, in the halves of Llama: channel c together with channel c + C/2.

Shape suffixes: B records, L queries, T columns of keys, N heads, G heads of keys and values, C channels of a head,
P all heads' channels, H hidden size, M twice that.
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyValues:
    """What later steps attend to, turned to its positions. Immutable: a step returns what there is after it.

    `columns` are keys and values [B, G, T, C] that every query may see, as the mask says. Of `diagonals`, each
    [B, G, L, C], a query sees only the one at its own place: what it itself was in an earlier step of an unroll.
    """

    columns: tuple[torch.Tensor, torch.Tensor]
    diagonals: tuple[tuple[torch.Tensor, torch.Tensor], ...] = ()

    @property
    def length(self) -> int:
        """How many columns there are."""
        return self.columns[0].shape[2]

    def first(self, columns: int) -> "KeyValues":
        """Return the first columns alone, as after tokens that were not accepted."""
        keys, values = self.columns
        return KeyValues(columns=(keys[:, :, :columns], values[:, :, :columns]))


class Attention(nn.Module):
    """Attention over columns under a mask, and over each query's own diagonals. It reads twice the hidden size."""

    def __init__(
        self, *, hidden_size: int, heads: int, key_value_heads: int, head_size: int, rope_theta: float
    ) -> None:
        super().__init__()
        self.head_size = head_size
        self.rope_theta = rope_theta
        self.q_proj = nn.Linear(2 * hidden_size, heads * head_size, bias=False)
        self.k_proj = nn.Linear(2 * hidden_size, key_value_heads * head_size, bias=False)
        self.v_proj = nn.Linear(2 * hidden_size, key_value_heads * head_size, bias=False)
        self.o_proj = nn.Linear(heads * head_size, hidden_size, bias=False)

    def forward(
        self,
        both_BLM: torch.Tensor,
        positions_BL: torch.Tensor,
        *,
        past: KeyValues | None,
        mask_BLT: torch.Tensor | None,
        diagonal: bool,
    ) -> tuple[torch.Tensor, KeyValues]:
        """Return what was attended to [B, L, H], and the keys and values with those of this step."""
        angles = _angles(positions_BL, channels=self.head_size, theta=self.rope_theta)
        q_BNLC = _turn(self._heads(self.q_proj(both_BLM)), *angles)
        k_BGLC = _turn(self._heads(self.k_proj(both_BLM)), *angles)
        after = _with_step(past, (k_BGLC, self._heads(self.v_proj(both_BLM))), diagonal=diagonal)
        mask_BLT = _causal(q_BNLC, after) if mask_BLT is None else mask_BLT
        mixed_BNLC = _attend(q_BNLC, after, mask_BLT)
        attended_BLH: torch.Tensor = self.o_proj(mixed_BNLC.transpose(1, 2).flatten(2))
        return attended_BLH, after

    def _heads(self, projected_BLP: torch.Tensor) -> torch.Tensor:
        records, places, _ = projected_BLP.shape
        return projected_BLP.view(records, places, -1, self.head_size).transpose(1, 2)


def _with_step(past: KeyValues | None, new: tuple[torch.Tensor, torch.Tensor], *, diagonal: bool) -> KeyValues:
    if past is None:
        return KeyValues(columns=new)
    if diagonal:
        return KeyValues(columns=past.columns, diagonals=(*past.diagonals, new))
    keys, values = (torch.cat(pair, dim=2) for pair in zip(past.columns, new, strict=True))
    return KeyValues(columns=(keys, values), diagonals=past.diagonals)


def _causal(q_BNLC: torch.Tensor, after: KeyValues) -> torch.Tensor:
    queries = q_BNLC.shape[2]
    own_L1 = torch.arange(after.length - queries, after.length, device=q_BNLC.device)[:, None]
    return (torch.arange(after.length, device=q_BNLC.device) <= own_L1)[None]


def _attend(q_BNLC: torch.Tensor, seen: KeyValues, mask_BLT: torch.Tensor) -> torch.Tensor:
    """Return [B, N, L, C]: one softmax, in float32, over the columns that the mask shows and all diagonals."""
    group = q_BNLC.shape[1] // seen.columns[0].shape[1]
    columns = [each.repeat_interleave(group, dim=1) for each in seen.columns]
    diagonals = [[each.repeat_interleave(group, dim=1) for each in pair] for pair in seen.diagonals]
    scale = q_BNLC.shape[-1] ** -0.5
    scores_BNLT = (q_BNLC @ columns[0].transpose(2, 3)).float() * scale
    scores_BNLT = scores_BNLT.masked_fill(~mask_BLT[:, None], float("-inf"))
    own = [(q_BNLC * keys).float().sum(-1, keepdim=True) * scale for keys, _ in diagonals]
    weights = torch.cat([scores_BNLT, *own], dim=-1).softmax(dim=-1).to(q_BNLC.dtype)
    mixed_BNLC = weights[..., : seen.length] @ columns[1]
    for place, (_, values) in enumerate(diagonals):
        mixed_BNLC = mixed_BNLC + weights[..., seen.length + place, None] * values
    return mixed_BNLC


def _angles(positions_BL: torch.Tensor, *, channels: int, theta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine, float32 [B, 1, L, C]: positions are turned slower in later channels."""
    even = torch.arange(0, channels, 2, dtype=torch.float32, device=positions_BL.device)
    angles_BLC = positions_BL[..., None].float() * theta ** (-even / channels)
    angles_B1LC = torch.cat((angles_BLC, angles_BLC), dim=-1)[:, None]
    return angles_B1LC.cos(), angles_B1LC.sin()


def _turn(states_BNLC: torch.Tensor, cosine_B1LC: torch.Tensor, sine_B1LC: torch.Tensor) -> torch.Tensor:
    """Return queries or keys turned to their positions, in their own element type."""
    first, second = states_BNLC.float().chunk(2, dim=-1)
    turned = states_BNLC.float() * cosine_B1LC + torch.cat((-second, first), dim=-1) * sine_B1LC
    return turned.to(states_BNLC.dtype)
