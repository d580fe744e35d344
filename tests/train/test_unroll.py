"""The unroll against drafting step by step with an explicit cache, and its loss against sums written out by hand."""

import pytest
import torch

from artifactctl.api.formats import FinalState
from tests.train.tiny import DRAFT, HIDDEN, USED, VOCABULARY, target_folder, tiny_draft
from train.target import load_target
from train.teacher import Teacher
from train.unroll import Batch, Unroll, unrolled

STEPS = 4


def batch_of(lengths: tuple[int, ...] = (9, 6), *, final: bool = True, seed: int = 3) -> Batch:
    """Records padded at their ends; every third token is not learned."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    shape = (len(lengths), longest)
    real = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
    return Batch(
        token_ids=torch.randint(0, VOCABULARY, shape, generator=generator) * real,
        learned=real & (torch.arange(longest) % 3 != 0)[None],
        aux=torch.randn(*shape, 3 * HIDDEN, generator=generator),
        final=torch.randn(*shape, HIDDEN, generator=generator) if final else None,
    )


@torch.no_grad()
def test_every_place_of_the_unroll_is_drafting_from_there_step_by_step() -> None:
    draft, batch = tiny_draft(), batch_of()
    steps = list(unrolled(draft, batch, steps=STEPS))
    for record, length in enumerate((9, 6)):
        ids, aux = batch.token_ids[record, :length], batch.aux[record, :length]
        for place in range(length - STEPS):
            fused = draft.fuse(aux[None, : place + 1])
            first = draft.step(draft.embed(ids[None, 1 : place + 2]), fused, positions_BL=torch.arange(place + 1)[None])
            step, hidden = first, first.hidden[:, -1:]
            torch.testing.assert_close(steps[0].logits[record, place], step.logits[0, -1], rtol=1e-4, atol=1e-4)
            for ahead in range(1, STEPS):
                step = draft.step(
                    draft.embed(ids[None, place + 1 + ahead][:, None]),
                    hidden,
                    positions_BL=torch.tensor([[place + ahead]]),
                    past=step.past,
                )
                hidden = step.hidden
                torch.testing.assert_close(steps[ahead].logits[record, place], step.logits[0, -1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("final_state", [FinalState.POST, FinalState.PRE])
@torch.no_grad()
def test_soft_losses_are_cross_entropies_with_the_target_restricted_to_the_draft(tmp_path, final_state) -> None:  # type: ignore[no-untyped-def]
    target, draft, batch = load_target(target_folder(tmp_path)), tiny_draft(), batch_of()
    sums = Unroll(draft, Teacher(target, final_state, dtype=torch.float32), steps=STEPS)(batch)
    assert batch.final is not None
    states = batch.final if final_state is FinalState.POST else target.normed(batch.final)
    for ahead, step in enumerate(unrolled(draft, batch, steps=STEPS)):
        loss, counted, learned, hits = 0.0, 0, 0, 0
        for record in range(2):
            for place in range(9 - 2 - ahead):
                logits = target.head @ states[record, place + 1 + ahead]
                said = int(logits.argmax())
                if not batch.learned[record, place + 2 + ahead]:
                    continue
                learned += 1
                hits += USED[int(step.logits[record, place].argmax())] == said
                if said not in USED:
                    continue
                counted += 1
                wanted = logits[list(USED)].softmax(-1)
                loss -= float((wanted * step.logits[record, place].log_softmax(-1)).sum())
        assert (int(sums.counted[ahead]), int(sums.learned[ahead]), int(sums.hits[ahead])) == (counted, learned, hits)
        assert float(sums.losses[ahead]) == pytest.approx(loss, rel=1e-4, abs=1e-6)


@torch.no_grad()
def test_hard_losses_are_cross_entropies_with_the_text(tmp_path) -> None:  # type: ignore[no-untyped-def]
    draft, batch = tiny_draft(), batch_of(final=False)
    teacher = Teacher(load_target(target_folder(tmp_path)), FinalState.NONE, dtype=torch.float32)
    batch.token_ids[:, 4:] = torch.tensor(USED[3])
    sums = Unroll(draft, teacher, steps=STEPS)(batch)
    assert "hard labels" in teacher.says
    for ahead, step in enumerate(unrolled(draft, batch, steps=STEPS)):
        loss = 0.0
        for record in range(2):
            for place in range(9 - 2 - ahead):
                token = int(batch.token_ids[record, place + 2 + ahead])
                if batch.learned[record, place + 2 + ahead] and token in USED:
                    loss -= float(step.logits[record, place].log_softmax(-1)[USED.index(token)])
        assert float(sums.losses[ahead]) == pytest.approx(loss, rel=1e-4, abs=1e-6)
        assert float(sums.counted[ahead]) > 0


@torch.no_grad()
def test_a_chain_ends_at_the_first_miss(tmp_path) -> None:  # type: ignore[no-untyped-def]
    draft, batch = tiny_draft(), batch_of((30, 30), final=False)
    batch.learned[:] = True
    draft.lm_head.weight.zero_()  # it always says its first token
    batch.token_ids[:] = USED[1]
    batch.token_ids[0, [5, 6, 7, 20]] = USED[0]
    batch.token_ids[1] = USED[0]
    teacher = Teacher(load_target(target_folder(tmp_path)), FinalState.NONE, dtype=torch.float32)
    sums = Unroll(draft, teacher, steps=STEPS)(batch)
    assert sums.hits.tolist() == [4 + 28, 4 + 27, 4 + 26, 4 + 25]
    assert sums.chains.tolist() == [4 + 28, 2 + 27, 1 + 26, 0 + 25]


def test_only_the_draft_is_trained_and_every_parameter_of_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    draft = tiny_draft()
    teacher = Teacher(load_target(target_folder(tmp_path)), FinalState.POST, dtype=torch.float32)
    unroll = Unroll(draft, teacher, steps=STEPS)
    assert {name for name, _ in unroll.named_parameters()} == {f"draft.{name}" for name, _ in draft.named_parameters()}
    (unroll(batch_of()).losses.sum()).backward()
    assert all(parameter.grad is not None and bool(parameter.grad.any()) for parameter in draft.parameters())
    assert draft.config.draft_vocabulary == DRAFT


def test_records_too_short_to_learn_from_count_nothing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    teacher = Teacher(load_target(target_folder(tmp_path)), FinalState.POST, dtype=torch.float32)
    sums = Unroll(tiny_draft(), teacher, steps=STEPS)(batch_of((2, 1)))
    assert sums.counted.tolist() == [0.0] * STEPS
    assert sums.losses.tolist() == [0.0] * STEPS
