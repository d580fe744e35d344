"""Which tokens a draft gets, what the two tensors say, and what a map loses."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.api.vocab_maps import BrokenMap
from artifactctl.domain.errors import UsageError
from extract.vocabulary.draft_map import DraftMap, choose_draft

COUNTS = st.dictionaries(st.integers(0, 39), st.integers(1, 5), min_size=1).map(Counter)


@given(counts=COUNTS, draft_size=st.integers(1, 40))
def test_the_tensors_of_a_chosen_map_name_the_same_tokens(counts: Counter[int], draft_size: int) -> None:
    made = choose_draft(counts, draft_size=draft_size, target_size=40)

    assert len(made.d2t) == draft_size
    assert sum(made.t2d) == draft_size
    assert [target for target, used in enumerate(made.t2d) if used] == [
        draft + offset for draft, offset in enumerate(made.d2t)
    ]
    assert DraftMap.of_tensors(made.d2t, made.t2d) == made


@given(counts=COUNTS, draft_size=st.integers(1, 40))
def test_no_other_choice_covers_more(counts: Counter[int], draft_size: int) -> None:
    made = choose_draft(counts, draft_size=draft_size, target_size=40)

    best = sum(sorted(counts.values(), reverse=True)[:draft_size])
    assert counts.total() - made.lost(counts).total() == best


def test_ties_go_to_the_smaller_id_and_unseen_ids_fill_from_below() -> None:
    counts = Counter({9: 2, 4: 2, 7: 2, 2: 5})

    assert choose_draft(counts, draft_size=3, target_size=10).used == (2, 4, 7)
    assert choose_draft(counts, draft_size=6, target_size=10).used == (0, 1, 2, 4, 7, 9)


def test_a_map_is_known_by_both_tensors() -> None:
    one = DraftMap(used=(1, 3), target_size=5)

    assert one.content_digest == DraftMap.of_tensors([1, 2], [False, True, False, True, False]).content_digest
    assert one.content_digest != DraftMap(used=(1, 3), target_size=6).content_digest
    assert one.content_digest != DraftMap(used=(1, 4), target_size=5).content_digest


@pytest.mark.parametrize(
    ("d2t", "t2d"),
    [([1], [True, False]), ([0, 0], [True, False]), ([1, 0], [False, True]), ([5], [True]), ([], [False])],
    ids=["another token", "one too many", "not ascending", "beyond the target", "empty"],
)
def test_tensors_that_contradict_each_other_are_no_map(d2t: list[int], t2d: list[bool]) -> None:
    with pytest.raises(BrokenMap):
        DraftMap.of_tensors(d2t, t2d)


@pytest.mark.parametrize(("draft_size", "target_size"), [(11, 10), (2, 5)], ids=["draft too large", "target too small"])
def test_sizes_that_do_not_go_together_are_refused(draft_size: int, target_size: int) -> None:
    with pytest.raises(UsageError):
        choose_draft(Counter({7: 1}), draft_size=draft_size, target_size=target_size)
