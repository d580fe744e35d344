"""A draft that knows the answer, and lies at times."""

from collections.abc import Sequence

import torch

from train.evaluating.choosing import Choosing, Proposal


class Foretelling:
    """Knows the answer, and lies in every `wrong_every`-th proposal."""

    def __init__(self, answer: Sequence[int], prompt: Sequence[int], *, wrong_every: int) -> None:
        self._whole = [*prompt, *answer]
        self._wrong_every = wrong_every
        self._length = 0
        self._proposed = 0

    def begin(self) -> None:
        """Forget everything."""
        self._length, self._proposed = 1, 0

    def propose(
        self, states: torch.Tensor, ids_after: Sequence[int], *, count: int, choosing: Choosing
    ) -> list[Proposal]:
        """Propose what comes, but for the lies; the target must have told every token so far, once."""
        assert len(states) == len(ids_after)
        self._length += len(ids_after)
        assert self._whole[self._length - len(ids_after) : self._length] == list(ids_after)
        tokens = []
        for token in [*self._whole, *[0] * count][self._length : self._length + count]:
            self._proposed += 1
            tokens.append((token + 1) % 300 if self._proposed % self._wrong_every == 0 else token)
        return [Proposal(token=token) for token in tokens]
