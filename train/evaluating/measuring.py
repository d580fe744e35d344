"""Measuring a draft: what of it the target accepts, what that is worth, and whether the output stayed the target's.

- The acceptance length is how many tokens a verifying pass gives: the accepted ones and the target's own after them; a
  draft that is never right has 1. The pass over the prompt and its token do not count.
- Two baselines, on the same answers and with the same chain: the draft before training, and the token that the target
  says most often here, proposed always, which is the unigram known afterwards: better than one counted beforehand.
- `lossless`: every answer with the draft is, token for token, the target's own greedy one. A pass over several tokens
  rounds otherwise than one over a single token, so near-ties may fall differently, in bf16 more often than in float32:
  where an answer differs, the margin between the target's first two choices is told with it. It counts as a loss.
- Greedy answers are measured; sampled ones beside them where a temperature is given.

Shape suffixes: T tokens, W width of the captured states side by side.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from artifactctl.domain.errors import CheckFailed
from train.draft import DraftModel
from train.evaluating.chain import ChainDrafter, ConstantDrafter
from train.evaluating.choosing import Greedy, Sampling
from train.evaluating.decoding import Decoded, Drafter, Round, decode_alone, decode_with_draft
from train.evaluating.prompts import EncodedPrompt
from train.evaluating.running_target import RecordedTarget, RunningTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`tokens` a prompt's answer has at most, `chain` tokens proposed a round; `temperature` 0 leaves sampling out."""

    tokens: int = 64
    chain: int = 5
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where an answer differs: at token `place` the target alone led by `margin`, None where its answer had ended."""

    prompt: str
    place: int
    margin: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """`by_place` has for each place of the chain the share accepted of those judged there, None where none was."""

    length: float
    by_place: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What was measured. `tokens` are those of the answers with the draft.

    `wall_clock_speedup` compares seconds a token without the prompts' passes, None where too little was decoded;
    `pass_speedup` tokens a pass of the target with them.
    """

    prompts: int
    tokens: int
    accepted: Acceptance
    untrained: Acceptance
    unigram: Acceptance
    differences: tuple[Difference, ...]
    wall_clock_speedup: float | None
    pass_speedup: float
    alone_tokens_per_second: float | None
    sampled: Acceptance | None

    @property
    def lossless(self) -> bool:
        """Whether every answer was the target's own."""
        return not self.differences

    @property
    def baseline_acceptance_length(self) -> float:
        """The better of the two baselines."""
        return max(self.untrained.length, self.unigram.length)


@dataclass(slots=True, kw_only=True)
class _Sums:
    """What accumulates over the prompts."""

    answers: list[tuple[EncodedPrompt, Decoded]] = field(default_factory=list)
    drafted: list[Decoded] = field(default_factory=list)
    untrained: list[Decoded] = field(default_factory=list)
    sampled: list[Decoded] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)


class Measuring:
    """Measures one draft on one target."""

    def __init__(self, target: RunningTarget, model: DraftModel, untrained: DraftModel, settings: Settings) -> None:
        self._target = target
        self._drafter = ChainDrafter(model)
        self._untrained = ChainDrafter(untrained)
        self._vocabulary = model.config.target_vocabulary
        self._settings = settings

    def measure(self, prompts: Sequence[EncodedPrompt], progress: Callable[[int], None]) -> Evaluation:
        """Decode every prompt with and without the draft; CheckFailed when the target answers none of them."""
        sums = _Sums()
        for number, prompt in enumerate(prompts):
            self._add(sums, number, prompt)
            progress(len(sums.drafted[-1].ids))
        if not any(decoded.rounds for decoded in sums.drafted):
            raise CheckFailed(
                f"the target ends its answer at once at all {len(prompts)} prompts, so no draft can be measured",
                remedy="give prompts that it answers",
            )
        return self._evaluation(sums)

    def _add(self, sums: _Sums, number: int, prompt: EncodedPrompt) -> None:
        wanted = self._settings
        alone = decode_alone(self._target, prompt.ids, choosing=Greedy(), most_tokens=wanted.tokens + wanted.chain)
        drafted = self._with_draft(self._target, self._drafter, prompt)
        sums.untrained.append(self._with_draft(self._recorded(prompt, alone), self._untrained, prompt))
        if wanted.temperature > 0:
            sums.sampled.append(self._drawn(prompt, seed=wanted.seed + number))
        sums.drafted.append(drafted)
        sums.differences += _differences(prompt, alone, drafted)
        forgotten = replace(alone, states=torch.empty((len(prompt.ids) + len(alone.ids), 0)))
        sums.answers.append((prompt, forgotten))

    def _with_draft(self, target: RunningTarget | RecordedTarget, drafter: Drafter, prompt: EncodedPrompt) -> Decoded:
        wanted = self._settings
        return decode_with_draft(
            target, drafter, prompt.ids, choosing=Greedy(), enough_tokens=wanted.tokens, chain=wanted.chain
        )

    def _drawn(self, prompt: EncodedPrompt, *, seed: int) -> Decoded:
        wanted = self._settings
        choosing = Sampling(wanted.temperature, seed=seed)
        return decode_with_draft(
            self._target,
            self._drafter,
            prompt.ids,
            choosing=choosing,
            enough_tokens=wanted.tokens,
            chain=wanted.chain,
        )

    def _recorded(self, prompt: EncodedPrompt, alone: Decoded) -> RecordedTarget:
        return RecordedTarget(prompt.ids, alone, vocabulary=self._vocabulary, stops=self._target.stops)

    def _evaluation(self, sums: _Sums) -> Evaluation:
        said = Counter(token for _, alone in sums.answers for token in alone.ids)
        constant = ConstantDrafter(said.most_common(1)[0][0])
        unigram = [self._with_draft(self._recorded(prompt, alone), constant, prompt) for prompt, alone in sums.answers]
        chain = self._settings.chain
        tokens = sum(len(decoded.ids) for decoded in sums.drafted)
        alone_seconds = _seconds_a_token([alone for _, alone in sums.answers])
        drafted_seconds = _seconds_a_token(sums.drafted)
        return Evaluation(
            prompts=len(sums.drafted),
            tokens=tokens,
            accepted=acceptance(sums.drafted, chain),
            untrained=acceptance(sums.untrained, chain),
            unigram=acceptance(unigram, chain),
            differences=tuple(sums.differences),
            wall_clock_speedup=alone_seconds / drafted_seconds if alone_seconds and drafted_seconds else None,
            pass_speedup=tokens / sum(1 + decoded.passes for decoded in sums.drafted),
            alone_tokens_per_second=1 / alone_seconds if alone_seconds else None,
            sampled=acceptance(sums.sampled, chain) if sums.sampled else None,
        )


def acceptance(decoded: Sequence[Decoded], chain: int) -> Acceptance:
    """Return what was accepted in all rounds of the answers; 1 token a pass where there was no round."""
    rounds = [each for answer in decoded for each in answer.rounds]
    produced = sum(each.produced for each in rounds)
    return Acceptance(
        length=produced / len(rounds) if rounds else 1.0,
        by_place=tuple(_share(rounds, place) for place in range(1, chain + 1)),
    )


def _share(rounds: Sequence[Round], place: int) -> float | None:
    judged = sum(each.judged >= place for each in rounds)
    return sum(each.accepted >= place for each in rounds) / judged if judged else None


def _seconds_a_token(decoded: Sequence[Decoded]) -> float | None:
    tokens = sum(len(each.ids) - 1 for each in decoded)
    return sum(each.seconds for each in decoded) / tokens if tokens else None


def _differences(prompt: EncodedPrompt, alone: Decoded, drafted: Decoded) -> list[Difference]:
    """Return the first place where the answers differ; that alone has more tokens at its end is none."""
    pairs = zip(alone.ids, drafted.ids, strict=False)
    place = next((place for place, (own, other) in enumerate(pairs) if own != other), None)
    if place is not None:
        return [Difference(prompt=prompt.label, place=place, margin=alone.margins[place])]
    if len(drafted.ids) > len(alone.ids):
        return [Difference(prompt=prompt.label, place=len(alone.ids), margin=None)]
    return []
