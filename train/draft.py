"""The EAGLE-3 draft: one decoder layer that reads the target's states beside the embedding of the token after them.

    h = fc(aux_low | aux_mid | aux_high)                  the target's states at token t, fused once
    in each step:
      a = attention(input_layernorm(e) | hidden_norm(h))  e the embedding of token t + 1
      h = h + a;  h = h + mlp(post_attention_layernorm(h))
      logits = lm_head(norm(h))                           over the draft's vocabulary: token t + 2
      the next step takes this h, before the norm

Names of parameters are those of the layout that SGLang serves. The embedding is the target's, frozen: it is no
parameter and not in the checkpoint. Positions are turned by plain RoPE with the target's base, whatever scaling the
target has.

Shape suffixes: B records, L queries, T columns of keys, K captured layers, H hidden size, M twice that, I intermediate
size, V target tokens, D draft tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from train.attention import Attention, KeyValues

_INITIAL_DEVIATION = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftConfig:
    """The shape of a draft; ValueError for one that cannot be built.

    `layers` are the hidden-state boundaries of the target that it reads, ascending, as Hugging Face counts them.
    """

    hidden_size: int
    intermediate_size: int
    attention_heads: int
    key_value_heads: int
    head_size: int
    target_vocabulary: int
    draft_vocabulary: int
    layers: tuple[int, ...]
    norm_epsilon: float = 1e-5
    rope_theta: float = 10_000.0
    longest_positions: int = 2048

    def __post_init__(self) -> None:
        counts = (self.hidden_size, self.intermediate_size, self.attention_heads, self.key_value_heads, self.head_size)
        if min(counts) < 1 or not self.layers:
            raise ValueError(f"a draft has at least one of everything: {self}")
        if self.attention_heads % self.key_value_heads or self.head_size % 2:
            raise ValueError(f"heads do not divide, or a head has an odd number of channels: {self}")
        if not 1 <= self.draft_vocabulary <= self.target_vocabulary:
            raise ValueError(f"{self.draft_vocabulary} draft tokens of {self.target_vocabulary}")

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands beside weights."""
        return {**asdict(self), "layers": list(self.layers)}

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> "DraftConfig":
        """Return what `as_json` wrote; KeyError, TypeError and ValueError for anything else."""
        return cls(**{**content, "layers": tuple(content["layers"])})

    @property
    def parameters(self) -> int:
        """How many parameters are trained: exactly those of `DraftModel.parameters()`."""
        hidden = self.hidden_size
        fusing = len(self.layers) * hidden * hidden
        queries_and_output = 3 * hidden * self.attention_heads * self.head_size
        keys_and_values = 4 * hidden * self.key_value_heads * self.head_size
        feed_forward = 3 * hidden * self.intermediate_size
        norms = 4 * hidden
        return fusing + queries_and_output + keys_and_values + feed_forward + norms + hidden * self.draft_vocabulary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What one step of drafting gives: `hidden` [B, L, H] before the norm, `logits` [B, L, D], the keys after it."""

    hidden: torch.Tensor
    logits: torch.Tensor
    past: KeyValues


class RMSNorm(nn.Module):
    """Root mean square normalisation, computed in float32."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states [..., H] normalised."""
        wide = states.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return (self.weight.float() * normed).to(states.dtype)


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, states_BLH: torch.Tensor) -> torch.Tensor:
        """Return [B, L, H]."""
        gated_BLI = functional.silu(self.gate_proj(states_BLH)) * self.up_proj(states_BLH)
        fed_BLH: torch.Tensor = self.down_proj(gated_BLI)
        return fed_BLH


class MidLayer(nn.Module):
    """The one decoder layer; the residual is the hidden state, not what attention reads."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.hidden_norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.self_attn = Attention(
            hidden_size=config.hidden_size,
            heads=config.attention_heads,
            key_value_heads=config.key_value_heads,
            head_size=config.head_size,
            rope_theta=config.rope_theta,
        )
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.mlp = FeedForward(config)

    def forward(
        self,
        embedded_BLH: torch.Tensor,
        hidden_BLH: torch.Tensor,
        positions_BL: torch.Tensor,
        *,
        past: KeyValues | None,
        mask_BLT: torch.Tensor | None,
        diagonal: bool,
    ) -> tuple[torch.Tensor, KeyValues]:
        """Return the hidden state after the layer [B, L, H], and the keys and values."""
        both_BLM = torch.cat((self.input_layernorm(embedded_BLH), self.hidden_norm(hidden_BLH)), dim=-1)
        attended_BLH, after = self.self_attn(both_BLM, positions_BL, past=past, mask_BLT=mask_BLT, diagonal=diagonal)
        hidden_BLH = hidden_BLH + attended_BLH
        return hidden_BLH + self.mlp(self.post_attention_layernorm(hidden_BLH)), after


class DraftModel(nn.Module):
    """A draft with its map and the target's frozen embedding.

    `t2d` bool [V] and `d2t` int64 [D] (`target_id = draft_id + d2t[draft_id]`) go with the weights: they are worth
    nothing with another map. `embed_tokens` [V, H] is a buffer that is not saved. Calling the model is `step`.
    """

    t2d: torch.Tensor
    d2t: torch.Tensor
    embed_tokens: torch.Tensor

    def __init__(self, config: DraftConfig, *, used: Sequence[int], embedding_VH: torch.Tensor) -> None:
        super().__init__()
        self.config = config
        used_D = torch.as_tensor(used, dtype=torch.int64)
        if used_D.shape != (config.draft_vocabulary,) or embedding_VH.shape != (
            config.target_vocabulary,
            config.hidden_size,
        ):
            raise ValueError(f"a map of {len(used_D)} tokens, an embedding {tuple(embedding_VH.shape)}: {config}")
        self.fc = nn.Linear(len(config.layers) * config.hidden_size, config.hidden_size, bias=False)
        self.midlayer = MidLayer(config)
        self.norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.lm_head = nn.Linear(config.hidden_size, config.draft_vocabulary, bias=False)
        t2d_V = torch.zeros(config.target_vocabulary, dtype=torch.bool)
        t2d_V[used_D] = True
        self.register_buffer("t2d", t2d_V)
        self.register_buffer("d2t", used_D - torch.arange(len(used_D)))
        self.register_buffer("embed_tokens", embedding_VH, persistent=False)

    def embed(self, token_ids_BL: torch.Tensor) -> torch.Tensor:
        """Return the embeddings [B, L, H] of ids of the target."""
        return functional.embedding(token_ids_BL, self.embed_tokens)

    def fuse(self, aux_BLKH: torch.Tensor) -> torch.Tensor:
        """Return the first hidden state [B, L, H] from the captured states side by side [B, L, K H], ascending."""
        fused_BLH: torch.Tensor = self.fc(aux_BLKH)
        return fused_BLH

    def step(
        self,
        embedded_BLH: torch.Tensor,
        hidden_BLH: torch.Tensor,
        *,
        positions_BL: torch.Tensor,
        past: KeyValues | None = None,
        mask_BLT: torch.Tensor | None = None,
        diagonal: bool = False,
    ) -> Step:
        """Draft one token further at each of L places.

        `hidden_BLH` is `fuse(aux)` or the `hidden` of the step before; `embedded_BLH` that of the token after it.
        The keys of this step become columns after those of `past`, or with `diagonal` one more diagonal. `mask_BLT`
        (bool, true where a query sees a column; T with the new ones) is causal unless given: the last L columns are the
        queries' own places, and each sees what is not after its own.
        """
        hidden_BLH, after = self.midlayer(
            embedded_BLH, hidden_BLH, positions_BL, past=past, mask_BLT=mask_BLT, diagonal=diagonal
        )
        return Step(hidden=hidden_BLH, logits=self.lm_head(self.norm(hidden_BLH)), past=after)

    def target_ids(self, draft_ids: torch.Tensor) -> torch.Tensor:
        """Return the target's ids of the draft's, any shape."""
        return draft_ids + self.d2t[draft_ids]


def initialise(model: DraftModel, *, seed: int) -> None:
    """Draw the weights anew, the same for the same seed: normal with deviation 0.02, norms one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.fill_(1.0)
            else:
                drawn = torch.randn(parameter.shape, generator=generator) * _INITIAL_DEVIATION
                parameter.copy_(drawn)
