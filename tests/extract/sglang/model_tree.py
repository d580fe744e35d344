"""A small tree of torch modules with the fields of a forward pass that SGLang hands to a forward hook.

Names and forms are those of sglang 0.5.23: `LlamaModel` gives a list of captured states, `DeepseekV2Model` one packed
tensor; `ForwardBatch` has `rids`, `extend_seq_lens_cpu`, `extend_prefix_lens_cpu`, `input_ids`, `forward_mode`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

HIDDEN, BLOCKS, VOCABULARY = 16, 8, 64


class ForwardMode:
    """A prefill, or a step of decoding."""

    def __init__(self, *, extends: bool) -> None:
        self._extends = extends

    def is_extend(self) -> bool:
        """Whether rows are tokens of prompts."""
        return self._extends


@dataclass(kw_only=True)
class ForwardBatch:
    """What a hook sees of the batch."""

    rids: list[str]
    input_ids: torch.Tensor
    extend_seq_lens_cpu: list[int]
    extend_prefix_lens_cpu: list[int]
    forward_mode: ForwardMode


def prefill(
    prompts: Sequence[tuple[str, Sequence[int]]], *, cached: int = 0, chunk: int = 0, extends: bool = True
) -> ForwardBatch:
    """Return the batch of these prompts; the first `cached` tokens, or all before the last chunk, are skipped."""
    skipped = [cached or (len(ids) - (len(ids) % chunk or chunk) if chunk else 0) for _, ids in prompts]
    kept = [list(ids)[skip:] for (_, ids), skip in zip(prompts, skipped, strict=True)]
    return ForwardBatch(
        rids=[request for request, _ in prompts],
        input_ids=torch.tensor([each for ids in kept for each in ids], dtype=torch.int64),
        extend_seq_lens_cpu=[len(ids) for ids in kept],
        extend_prefix_lens_cpu=skipped,
        forward_mode=ForwardMode(extends=extends),
    )


class Body(torch.nn.Module):
    """The module `model`: blocks that capture what goes into them, and a norm."""

    def __init__(self, layers: Sequence[int], *, packed: bool) -> None:
        super().__init__()
        self.layers_to_capture = list(layers)
        self.packed = packed
        self.broken_rows: set[int] = set()
        self.forgotten = 0
        made = torch.Generator().manual_seed(5)
        self.embedding = torch.randn(VOCABULARY, HIDDEN, generator=made).to(torch.bfloat16)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor | None, forward_batch: ForwardBatch) -> Any:
        """Return (final, captured), as SGLang's models do when capture is on."""
        state = self.embedding[input_ids]
        captured = []
        for block in range(BLOCKS):
            if block in self.layers_to_capture:
                captured.append(state.clone())
            state = state * 1.5 + block
        if self.broken_rows:
            captured[0][list(self.broken_rows)] = float("nan")
        final = state / 100
        captured = captured[self.forgotten :]
        return (final, torch.cat(captured, dim=-1) if self.packed else captured) if captured else final


class CausalModel(torch.nn.Module):
    """The whole model, with the body under the name that `target_modules` gives."""

    def __init__(self, layers: Sequence[int] = (2, 4, 5), *, packed: bool = False) -> None:
        super().__init__()
        self.model = Body(layers, packed=packed)

    def forward(self, forward_batch: ForwardBatch) -> Any:
        """Run a batch."""
        return self.model(forward_batch.input_ids, None, forward_batch)

    def states(self, token_ids: Sequence[int]) -> list["np.ndarray[Any, Any]"]:
        """Return the bit patterns of the states of a prompt: captured ones, then the final one."""
        ids = torch.tensor(list(token_ids), dtype=torch.int64)
        final, captured = self.model.forward(ids, None, prefill([("x", token_ids)]))
        parts = captured.split(HIDDEN, dim=-1) if self.model.packed else captured
        return [part.contiguous().view(torch.int16).numpy().view("<u2") for part in (*parts, final)]
