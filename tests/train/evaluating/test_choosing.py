"""Which proposals stand, by rule and by chance."""

import pytest
import torch

from train.evaluating.choosing import Greedy, Proposal, Sampling, Verdict

TARGET_V = torch.tensor([0.05, 0.4, 0.0, 0.25, 0.2, 0.1])
DRAFT_V = torch.tensor([0.0, 0.1, 0.3, 0.6, 0.0, 0.0])
DRAWS = 8_000
CRITICAL_CHI_SQUARE = 18.5  # four degrees of freedom: a right rule passes it 999 times in 1000


def logits(*chosen: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(chosen), 6).float()


@pytest.mark.parametrize(
    ("proposed", "verdict"),
    [
        ((1, 2, 3), Verdict(accepted=3, token=4)),
        ((1, 2, 0), Verdict(accepted=2, token=3)),
        ((0, 2, 3), Verdict(accepted=0, token=1)),
    ],
    ids=["all right", "the last is wrong", "what follows a wrong one does not count"],
)
def test_greedily_those_stand_that_the_target_would_have_said(proposed: tuple[int, ...], verdict: Verdict) -> None:
    assert Greedy().verify([Proposal(token=token) for token in proposed], logits(1, 2, 3, 4)) == verdict


def test_what_is_sampled_is_distributed_as_the_target_says_whatever_the_draft_proposes() -> None:
    sampling = Sampling(1.0, seed=5)
    rows = torch.stack([TARGET_V.log(), TARGET_V.log()])
    counts = torch.zeros(6)
    seconds = torch.zeros(6)
    for _ in range(DRAWS):
        token = int(torch.multinomial(DRAFT_V, 1, generator=sampling._generator))
        verdict = sampling.verify([Proposal(token=token, odds=DRAFT_V)], rows)
        counts[token if verdict.accepted else verdict.token] += 1
        if verdict.accepted:
            seconds[verdict.token] += 1

    assert chi_square(counts) < CRITICAL_CHI_SQUARE
    assert chi_square(seconds) < CRITICAL_CHI_SQUARE
    assert abs(float(seconds.sum()) / DRAWS - float(torch.minimum(TARGET_V, DRAFT_V).sum())) < 0.02


def test_a_draw_at_a_lower_temperature_prefers_the_most_probable() -> None:
    cold, warm = (Sampling(temperature, seed=1).propose for temperature in (0.05, 5.0))
    assert {cold(TARGET_V.log())[0] for _ in range(50)} == {1}
    assert len({warm(TARGET_V.log())[0] for _ in range(50)}) > 2


def test_the_same_seed_draws_the_same() -> None:
    first, second = (Sampling(1.0, seed=3) for _ in range(2))
    assert [first.propose(TARGET_V)[0] for _ in range(20)] == [second.propose(TARGET_V)[0] for _ in range(20)]


def test_a_proposal_that_was_not_drawn_is_not_judged_by_chance() -> None:
    with pytest.raises(ValueError, match="not drawn"):
        Sampling(1.0, seed=1).verify([Proposal(token=1)], logits(1, 1))


def chi_square(counts: torch.Tensor) -> float:
    expected = TARGET_V * counts.sum()
    assert counts[2] == 0
    return float(((counts - expected) ** 2 / expected)[expected > 0].sum())
