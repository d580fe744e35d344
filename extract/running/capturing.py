"""Taking states of a model in this process where they pass by, as bf16: what an extraction writes."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from artifactctl.api.formats import FinalState
from extract.requirements import need
from extract.running.hf_model import LoadedModel

FINAL = -1
"""What the final state is kept under, beside the boundaries."""


class Capture:
    """While it is entered, what passes the wanted boundaries is kept, by boundary; a later pass replaces it."""

    def __init__(
        self, loaded: LoadedModel, *, layers: Sequence[int], final_state: FinalState = FinalState.NONE
    ) -> None:
        self._loaded = loaded
        self._layers = tuple(layers)
        self._final_state = final_state
        self._hooks = ExitStack()
        self._taken: dict[int, Any] = {}

    def __enter__(self) -> dict[int, Any]:
        blocks, norm = self._loaded.blocks, self._loaded.norm
        for layer in self._layers:
            self._before(blocks[layer] if layer < len(blocks) else norm, layer)
        if self._final_state is FinalState.PRE:
            self._before(norm, FINAL)
        if self._final_state is FinalState.POST:
            handle = norm.register_forward_hook(lambda _module, _given, came_out: self._keep(FINAL, came_out))
            self._hooks.callback(handle.remove)
        return self._taken

    def __exit__(self, *_error: object) -> None:
        self._hooks.close()

    def _before(self, module: Any, boundary: int) -> None:
        def look(_module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            self._keep(boundary, given[0] if given else named["hidden_states"])

        self._hooks.callback(module.register_forward_pre_hook(look, with_kwargs=True).remove)

    def _keep(self, boundary: int, tensor: Any) -> None:
        torch = need("torch", purpose="computing hidden states")
        self._taken[boundary] = tensor.to(torch.bfloat16)
