"""The target while it decodes: transformers with its cache, and a recorded answer that stands in for it.

Shape suffixes: B one record, T tokens of one pass, V target tokens, W width of the captured states side by side.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from extract.requirements import need
from extract.running.capturing import Capture
from extract.running.hf_model import LoadedModel
from train.evaluating.decoding import Decoded, Pass


class RunningTarget:
    """A loaded model that keeps keys and values. States are rounded to bf16, as an extraction writes them."""

    def __init__(self, loaded: LoadedModel, *, layers: Sequence[int], stops: frozenset[int]) -> None:
        loaded.whole.to(loaded.device)
        self._loaded = loaded
        self._layers = tuple(layers)
        words = inspect.signature(loaded.whole.forward).parameters
        self._can_score_few = "logits_to_keep" in words
        self._cache_word = "cache" if "cache" in words else "past_key_values"
        self._cache: Any = None
        self.stops = stops

    def begin(self) -> None:
        """Forget everything."""
        self._cache = need("transformers", purpose="decoding").DynamicCache()

    def read(self, ids: Sequence[int], *, scored: int) -> Pass:
        """Read more tokens in one pass; the logits of the last `scored` come back in float32."""
        ids_BT = torch.tensor([list(ids)], device=self._loaded.device)
        few = {"logits_to_keep": scored} if self._can_score_few else {}
        remembered = {self._cache_word: self._cache}
        with torch.inference_mode(), Capture(self._loaded, layers=self._layers) as taken:
            out = self._loaded.whole(input_ids=ids_BT, use_cache=True, **remembered, **few)
            states_TW = torch.cat([taken[layer][0] for layer in self._layers], dim=-1)
            return Pass(states=states_TW, logits=out.logits[0, -scored:].float())

    def forget(self, tokens: int) -> None:
        """Forget the last tokens that were read."""
        self._cache.crop(-tokens)


class RecordedTarget:
    """Answers as the target has answered alone, as long as it is asked along that answer; greedy choosing only.

    A wrong proposal is told from a right one, and what would have come after a wrong one nobody looks at. So a draft's
    acceptance is known without a pass of the target.
    """

    def __init__(self, prompt: Sequence[int], alone: Decoded, *, vocabulary: int, stops: frozenset[int]) -> None:
        assert alone.states is not None
        self._ids = [*prompt, *alone.ids]
        self._states_TW = alone.states
        self._vocabulary = vocabulary
        self._length = 0
        self.stops = stops

    def begin(self) -> None:
        """Go back to the beginning."""
        self._length = 0

    def read(self, ids: Sequence[int], *, scored: int) -> Pass:
        """Go on; a row's logits have the token that came next alone."""
        begin, end = self._length, self._length + len(ids)
        self._length = end
        nexts = self._ids[end + 1 - scored : end + 1]
        logits_TV = torch.zeros((scored, self._vocabulary))
        for row, token in enumerate(nexts):
            logits_TV[row, token] = 1.0
        return Pass(states=self._states_TW[begin:end], logits=logits_TV)

    def forget(self, tokens: int) -> None:
        """Go back."""
        self._length -= tokens
