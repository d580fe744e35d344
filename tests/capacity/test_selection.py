"""The least-regret set."""

from datetime import timedelta
from itertools import combinations

import pytest
from capacity_volumes import NOON, candidate
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.capacity import ReclaimCandidate, least_regret


def names(chosen) -> list[str]:
    return [entry.name for entry in chosen]


@st.composite
def candidate_lists(draw, max_size=7):
    sizes = draw(st.lists(st.integers(0, 40), max_size=max_size))
    return [
        ReclaimCandidate(
            name=f"n{at}",
            freed_bytes=size,
            superseded=draw(st.booleans()),
            regenerate_cost=draw(st.sampled_from([None, 0.0, 1.0, 5.0])),
            created_at=NOON - timedelta(days=draw(st.integers(0, 3))),
            set_aside=draw(st.booleans()),
        )
        for at, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (candidate("z", 10, set_aside=True), candidate("a", 10, superseded=True, cost=0)),
        (candidate("z", 10, superseded=True), candidate("a", 10, cost=0)),
        (candidate("z", 10, cost=1), candidate("a", 10, cost=2)),
        (candidate("z", 10, cost=1000), candidate("a", 10, cost=None)),
        (candidate("z", 10, days_old=9), candidate("a", 10, days_old=8)),
        (candidate("a", 10), candidate("b", 10)),
    ],
    ids=["set aside", "superseded", "cheaper for each byte", "cost known", "older", "by name"],
)
def test_of_two_equally_large_the_less_regretted_goes(better, worse):
    assert names(least_regret([worse, better], needed=10)) == [better.name]


def test_cost_counts_for_each_byte_not_in_total():
    large = candidate("large", 100, cost=50)
    small = candidate("small", 10, cost=10)

    assert names(least_regret([small, large], needed=10)) == ["large"]


def test_among_equals_the_smallest_overshoot_completes_the_set():
    chosen = least_regret(
        [candidate("old", 60, days_old=9), candidate("huge", 500, days_old=8), candidate("fits", 50, days_old=1)],
        needed=100,
    )

    assert names(chosen) == ["old", "fits"]


def test_a_dearer_artifact_never_replaces_a_cheaper_one_for_a_better_fit():
    superseded = candidate("superseded", 500, superseded=True)
    exact = candidate("exact", 100)

    assert names(least_regret([exact, superseded], needed=100)) == ["superseded"]


def test_small_ones_that_a_large_one_makes_needless_are_left_alone():
    chosen = least_regret([candidate("crumb", 1, superseded=True), candidate("loaf", 100)], needed=100)

    assert names(chosen) == ["loaf"]


@pytest.mark.parametrize("needed", [0, -5])
def test_nothing_is_given_up_when_nothing_is_needed(needed):
    assert least_regret([candidate("a", 10)], needed=needed) == ()


def test_nothing_is_given_up_when_it_would_not_be_enough():
    assert least_regret([candidate("a", 10), candidate("b", 10)], needed=21) == ()


def test_what_frees_nothing_is_never_chosen():
    assert names(least_regret([candidate("linked", 0, superseded=True), candidate("a", 10)], needed=5)) == ["a"]


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_an_impossible_cost_is_refused(cost):
    with pytest.raises(ValueError, match="cannot cost"):
        candidate("a", 10, cost=cost)


@given(candidates=candidate_lists(), needed=st.integers(1, 200), randomness=st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_the_input(candidates, needed, randomness):
    shuffled = candidates.copy()
    randomness.shuffle(shuffled)

    assert least_regret(shuffled, needed=needed) == least_regret(candidates, needed=needed)


@given(candidates=candidate_lists(), needed=st.integers(1, 200))
def test_the_choice_covers_the_need_exactly_when_that_is_possible(candidates, needed):
    freed = sum(entry.freed_bytes for entry in least_regret(candidates, needed=needed))

    assert (freed >= needed) == (sum(entry.freed_bytes for entry in candidates) >= needed)


@given(candidates=candidate_lists(), needed=st.integers(1, 200))
def test_no_member_is_superfluous(candidates, needed):
    chosen = least_regret(candidates, needed=needed)
    freed = sum(entry.freed_bytes for entry in chosen)

    assert all(freed - entry.freed_bytes < needed for entry in chosen)


@given(candidates=candidate_lists(max_size=6), needed=st.integers(1, 120))
def test_no_other_set_avoids_the_most_regretted_class_that_was_touched(candidates, needed):
    chosen = least_regret(candidates, needed=needed)
    worst = max((entry.regret_class for entry in chosen), default=None)
    milder = [entry for entry in candidates if worst is not None and entry.regret_class < worst]

    assert all(
        sum(entry.freed_bytes for entry in group) < needed
        for size in range(len(milder) + 1)
        for group in combinations(milder, size)
    )
