"""Decoding: by the target alone, and with a draft that proposes what the target verifies in one pass.

Both keep the newest token outside of the target's cache: it goes in with the next pass, whose first row of logits is
what comes after it.

Shape suffixes: T tokens of one pass, V target tokens, W width of the captured states side by side.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from train.evaluating.choosing import Choosing, Proposal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pass:
    """What one pass gives: the captured states [T, W] of all its tokens, the logits [scored, V] of the last of them."""

    states: torch.Tensor
    logits: torch.Tensor


class Target(Protocol):
    """A target that remembers what it has read; `stops` are the tokens that end an answer."""

    stops: frozenset[int]

    def begin(self) -> None:
        """Forget everything."""
        ...

    def read(self, ids: Sequence[int], *, scored: int) -> Pass:
        """Read more tokens in one pass; the logits of the last `scored` come back."""
        ...

    def forget(self, tokens: int) -> None:
        """Forget the last tokens that were read."""
        ...


class Drafter(Protocol):
    """What proposes tokens."""

    def begin(self) -> None:
        """Forget everything."""
        ...

    def propose(
        self, states_TW: torch.Tensor, ids_after: Sequence[int], *, count: int, choosing: Choosing
    ) -> list[Proposal]:
        """Propose what follows the last of `ids_after`.

        `states_TW` are those of the tokens that the target has read since the last call and that stand; `ids_after` has
        for each the token after it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One verifying pass: the places it judged, how many proposals stood, and how many tokens it gave in all.

    The places behind the first one that fell were not judged, nor those behind the end of an answer.
    """

    judged: int
    accepted: int
    produced: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decoded:
    """An answer. `seconds` and `passes` are what came after the prompt was read and its first token known.

    `margins` are how far the target's first choice was above its second, token by token; `states` [T, W] are those of
    the prompt and of every token of the answer but the last. Both are there where the target decoded alone.
    """

    ids: tuple[int, ...]
    seconds: float
    passes: int
    rounds: tuple[Round, ...] = ()
    margins: tuple[float, ...] = ()
    states: torch.Tensor | None = None


def decode_alone(target: Target, prompt: Sequence[int], *, choosing: Choosing, most_tokens: int) -> Decoded:
    """Return at most so many tokens, one a pass."""
    target.begin()
    passed = target.read(prompt, scored=1)
    states, best = [passed.states], [passed.logits[0].topk(2).values]
    ids = [choosing.verify((), passed.logits).token]
    begun = time.perf_counter()
    while len(ids) < most_tokens and ids[-1] not in target.stops:
        passed = target.read(ids[-1:], scored=1)
        states.append(passed.states)
        best.append(passed.logits[0].topk(2).values)
        ids.append(choosing.verify((), passed.logits).token)
    return Decoded(
        ids=tuple(ids),
        seconds=time.perf_counter() - begun,
        passes=len(ids) - 1,
        margins=tuple(float(first - second) for first, second in best),
        states=torch.cat(states),
    )


def decode_with_draft(
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    *,
    choosing: Choosing,
    enough_tokens: int,
    chain: int,
) -> Decoded:
    """Return at least so many tokens unless the answer ends, and at most `chain` more: a round is never cut short."""
    target.begin()
    drafter.begin()
    passed = target.read(prompt, scored=1)
    ids = [choosing.verify((), passed.logits).token]
    states_TW, ids_after = passed.states, [*prompt[1:], ids[0]]
    rounds: list[Round] = []
    begun = time.perf_counter()
    while len(ids) < enough_tokens and ids[-1] not in target.stops:
        proposals = drafter.propose(states_TW, ids_after, count=chain, choosing=choosing)
        proposed = [proposal.token for proposal in proposals]
        passed = target.read([ids[-1], *proposed], scored=1 + chain)
        verdict = choosing.verify(proposals, passed.logits)
        target.forget(chain - verdict.accepted)
        ids_after = [*proposed[: verdict.accepted], verdict.token]
        states_TW = passed.states[: 1 + verdict.accepted]
        said = _through_the_end(ids_after, target.stops)
        rounds.append(
            Round(judged=min(len(said), chain), accepted=min(verdict.accepted, len(said)), produced=len(said))
        )
        ids.extend(said)
    return Decoded(ids=tuple(ids), seconds=time.perf_counter() - begun, passes=len(rounds), rounds=tuple(rounds))


def _through_the_end(ids: list[int], stops: frozenset[int]) -> list[int]:
    end = next((place for place, token in enumerate(ids) if token in stops), len(ids))
    return ids[: end + 1]
