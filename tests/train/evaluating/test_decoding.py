"""Decoding with a draft against the target's own: the same tokens whatever the draft proposes."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from extract.running.hf_model import LoadedModel
from tests.train.evaluating.foretelling import Foretelling
from tests.train.evaluating.targets import LAYERS, drafts_of
from train.evaluating.chain import ChainDrafter, ConstantDrafter
from train.evaluating.choosing import Greedy
from train.evaluating.decoding import Decoded, Drafter, decode_alone, decode_with_draft
from train.evaluating.running_target import RecordedTarget, RunningTarget

CHAIN, TOKENS = 3, 16


def alone(target: RunningTarget, prompt: Sequence[int]) -> Decoded:
    return decode_alone(target, prompt, choosing=Greedy(), most_tokens=TOKENS + CHAIN)


def drafted(target: RunningTarget | RecordedTarget, drafter: Drafter, prompt: Sequence[int]) -> Decoded:
    return decode_with_draft(target, drafter, prompt, choosing=Greedy(), enough_tokens=TOKENS, chain=CHAIN)


def test_decoding_alone_is_what_transformers_generates(
    llama: LoadedModel, running: RunningTarget, prompts: list[list[int]]
) -> None:
    for prompt in prompts:
        generated = llama.whole.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt)),
            do_sample=False,
            max_new_tokens=TOKENS,
            eos_token_id=None,
            pad_token_id=0,
        )
        assert alone(running, prompt).ids[:TOKENS] == tuple(generated[0, len(prompt) :].tolist())


@pytest.mark.parametrize("wrong_every", [1, 2, 5, 1000], ids=["always", "every second", "rarely", "never"])
def test_the_answer_is_the_same_wherever_the_draft_is_wrong(
    running: RunningTarget, prompts: list[list[int]], wrong_every: int
) -> None:
    for prompt in prompts:
        own = alone(running, prompt)

        with_draft = drafted(running, Foretelling(own.ids, prompt, wrong_every=wrong_every), prompt)

        assert with_draft.ids == own.ids[: len(with_draft.ids)]
        assert TOKENS <= len(with_draft.ids) <= TOKENS + CHAIN
        assert len(with_draft.ids) == 1 + sum(each.produced for each in with_draft.rounds)


def test_a_draft_that_is_always_right_gives_its_chain_and_one_token_a_pass(
    running: RunningTarget, prompts: list[list[int]]
) -> None:
    own = alone(running, prompts[-1])
    right = drafted(running, Foretelling(own.ids, prompts[-1], wrong_every=1000), prompts[-1])
    wrong = drafted(running, Foretelling(own.ids, prompts[-1], wrong_every=1), prompts[-1])
    assert {(each.judged, each.accepted, each.produced) for each in right.rounds} == {(CHAIN, CHAIN, CHAIN + 1)}
    assert {(each.judged, each.accepted, each.produced) for each in wrong.rounds} == {(1, 0, 1)}
    assert wrong.passes == TOKENS - 1


def test_a_random_draft_leaves_the_answer_as_it_is(
    llama_folder: Path, running: RunningTarget, prompts: list[list[int]]
) -> None:
    for seed, prompt in enumerate(prompts):
        drafter = ChainDrafter(drafts_of(llama_folder, seed=seed))
        own, with_draft = alone(running, prompt), drafted(running, drafter, prompt)
        assert with_draft.ids == own.ids[: len(with_draft.ids)]


@pytest.mark.parametrize("place", [0, 1, 3, 4, 9])
def test_an_answer_ends_with_the_token_that_ends_it(llama: LoadedModel, running: RunningTarget, place: int) -> None:
    prompt = [4, 9, 16]
    free = alone(running, prompt)
    stop = free.ids[place]
    ending = RunningTarget(llama, layers=LAYERS, stops=frozenset({stop}))
    own = alone(ending, prompt)

    right = drafted(ending, Foretelling(free.ids, prompt, wrong_every=1000), prompt)
    wrong = drafted(ending, Foretelling(free.ids, prompt, wrong_every=1), prompt)

    assert own.ids == right.ids == wrong.ids == free.ids[: free.ids.index(stop) + 1]
    assert all(each.accepted <= each.judged <= CHAIN and each.accepted <= each.produced for each in right.rounds)


def test_a_recorded_answer_tells_acceptance_without_the_target(
    llama_folder: Path, llama: LoadedModel, prompts: list[list[int]]
) -> None:
    common = alone(RunningTarget(llama, layers=LAYERS, stops=frozenset()), prompts[-1]).ids[9]
    for stops in (frozenset[int](), frozenset({common})):
        target = RunningTarget(llama, layers=LAYERS, stops=stops)
        for prompt in prompts:
            own = alone(target, prompt)
            recorded = RecordedTarget(prompt, own, vocabulary=300, stops=stops)
            for drafter in (
                ChainDrafter(drafts_of(llama_folder)),
                ConstantDrafter(own.ids[0]),
                Foretelling(own.ids, prompt, wrong_every=3),
            ):
                real, replayed = drafted(target, drafter, prompt), drafted(recorded, drafter, prompt)
                assert (replayed.ids, replayed.rounds) == (real.ids, real.rounds)


def test_a_chain_attends_to_the_targets_own_states_and_to_itself(
    llama_folder: Path, running: RunningTarget, prompts: list[list[int]]
) -> None:
    """What is proposed incrementally is what the whole sequence at once gives."""
    model = drafts_of(llama_folder)
    answer = alone(running, prompts[-1])
    assert answer.states is not None
    whole = [*prompts[-1], *answer.ids]
    drafter = ChainDrafter(model)
    drafter.begin()
    cuts = [17, 18, 21, 30]
    for begin, end in zip([0, *cuts], cuts, strict=False):
        proposals = drafter.propose(
            answer.states[begin:end], whole[begin + 1 : end + 1], count=CHAIN, choosing=Greedy()
        )
    embedded = model.embed(torch.tensor([whole[1 : end + 1]]))
    hidden = model.fuse(answer.states[None, :end].float())
    expected = []
    for _ in range(CHAIN):
        step = model.step(embedded, hidden, positions_BL=torch.arange(embedded.shape[1])[None])
        expected.append(int(model.target_ids(step.logits[0, -1].argmax())))
        embedded = torch.cat([embedded, model.embed(torch.tensor([expected[-1:]]))], dim=1)
        hidden = torch.cat([hidden, step.hidden[:, -1:]], dim=1)
    assert [proposal.token for proposal in proposals] == expected
