"""What to save from a machine that goes away: order, time, and what may stay."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from artifactctl.capacity.leaving import (
    Basis,
    Belonging,
    LeavingPlan,
    LeavingVerdict,
    Rate,
    plan_leaving,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
FAST = Rate(bytes_a_second=100, basis=Basis.GIVEN)


def belonging(name: str, size_bytes: int = 1000, **facts) -> Belonging:
    return Belonging(name=name, kind="other", path=b"/data/" + name.encode(), size_bytes=size_bytes, **facts)


def plan(*items: Belonging, seconds: float = 10_000, elsewhere: tuple[str, ...] = ()) -> LeavingPlan:
    by = NOON + timedelta(seconds=seconds)
    return plan_leaving("gpu-1", items, elsewhere=frozenset(elsewhere), rate=FAST, by=by, now=NOON)


def order(answer: LeavingPlan) -> list[str]:
    return [saving.belonging.name for saving in answer.savings]


def test_what_nobody_can_rebuild_comes_first_and_of_that_the_small() -> None:
    answer = plan(
        belonging("states", inputs=("corpus",), hours_to_rebuild=90.0),
        belonging("big", 5000),
        belonging("corpus", 2000),
    )

    assert order(answer) == ["corpus", "big", "states"]
    assert [saving.is_unique for saving in answer.savings] == [True, True, False]
    assert [saving.done_at for saving in answer.savings] == [NOON + timedelta(seconds=s) for s in (20, 70, 80)]


def test_of_what_can_be_rebuilt_the_dearest_for_its_size_comes_first_and_the_unknown_before_it() -> None:
    answer = plan(
        belonging("cheap", 1000, inputs=("corpus",), hours_to_rebuild=1.0),
        belonging("dear", 2000, inputs=("corpus",), hours_to_rebuild=10.0),
        belonging("unknown", 9000, inputs=("corpus",)),
        elsewhere=("corpus",),
    )

    assert order(answer) == ["unknown", "dear", "cheap"]
    assert answer.unique_bytes == 0


def test_what_has_a_verified_copy_elsewhere_stays() -> None:
    answer = plan(belonging("corpus", copies_elsewhere=("on nas, in `vault`",)))

    assert order(answer) == []
    assert [left.why for left in answer.left_behind] == ["a verified copy is on nas, in `vault`"]
    assert answer.verdict is LeavingVerdict.FITS


def test_what_was_made_from_something_lost_cannot_be_rebuilt() -> None:
    (saving,) = plan(belonging("states", inputs=("corpus",), hours_to_rebuild=1.0)).savings

    assert saving.is_unique
    assert saving.why == "corpus, from which it was made, is nowhere any more"


def test_what_something_is_useless_without_is_saved_as_well() -> None:
    answer = plan(
        belonging("draft", 5000, needs=("map",)),
        belonging("map", 10, inputs=("corpus",), hours_to_rebuild=0.1),
        elsewhere=("corpus",),
    )

    assert order(answer) == ["map", "draft"]
    assert answer.savings[0].why == "draft is useless without it"


def test_what_is_superseded_stays_unless_it_is_still_counted_on() -> None:
    old = belonging("old-corpus", superseded_by="new-corpus")
    new = belonging("new-corpus")

    assert order(plan(old, new)) == ["new-corpus"]
    assert order(plan(old, new, belonging("states", inputs=("old-corpus",)))) == ["new-corpus", "old-corpus", "states"]


def test_what_somebody_holds_is_saved_although_it_could_be_rebuilt() -> None:
    (saving,) = plan(belonging("states", inputs=("corpus",), is_held=True), elsewhere=("corpus",)).savings

    assert (saving.is_unique, saving.why) == (True, "somebody holds it")


def test_what_comes_too_late_lets_the_next_have_its_time() -> None:
    answer = plan(
        belonging("huge", 100_000), belonging("small", 500, inputs=("corpus",)), seconds=10, elsewhere=("corpus",)
    )

    assert [(s.belonging.name, s.done_at is not None) for s in answer.savings] == [("huge", False), ("small", True)]
    assert answer.verdict is LeavingVerdict.DOES_NOT_FIT
    assert answer.needed_bytes_a_second == 10_000


def test_it_fits_in_part_when_only_what_can_be_rebuilt_is_too_late() -> None:
    answer = plan(belonging("small", 500), belonging("big", 5000, inputs=("small",)), seconds=10)

    assert answer.verdict is LeavingVerdict.FITS_WITHOUT_REBUILDABLE


def test_nothing_fits_when_the_time_is_over() -> None:
    answer = plan(belonging("small"), seconds=-5)

    assert (answer.verdict, answer.needed_bytes_a_second) == (LeavingVerdict.DOES_NOT_FIT, None)


NAMES = "abcdef"
belongings = some.lists(
    some.builds(
        belonging,
        name=some.sampled_from(NAMES),
        size_bytes=some.integers(min_value=0, max_value=10_000),
        copies_elsewhere=some.sampled_from([(), ("on nas",)]),
        inputs=some.one_of(some.none(), some.lists(some.sampled_from(NAMES + "xy"), min_size=1, max_size=2).map(tuple)),
        needs=some.lists(some.sampled_from(NAMES), max_size=1).map(tuple),
        superseded_by=some.sampled_from(["", "", "", "a"]),
        hours_to_rebuild=some.one_of(some.none(), some.floats(min_value=0, max_value=100)),
        is_held=some.booleans(),
    ),
    unique_by=lambda item: item.name,
    max_size=6,
).map(lambda items: _without_loops(items))


def _without_loops(items: list[Belonging]) -> list[Belonging]:
    """Let things be made from, need and be superseded by what comes before them only, as a lineage has it."""
    done = []
    for item in items:
        inputs = None if item.inputs is None else tuple(n for n in item.inputs if n in "xy" or n < item.name) or None
        successor = "a" if item.superseded_by and item.name > "a" else ""
        done.append(
            replace(item, inputs=inputs, needs=tuple(n for n in item.needs if n < item.name), superseded_by=successor)
        )
    return done


@given(items=belongings, seconds=some.integers(min_value=-10, max_value=300))
def test_everything_is_either_saved_or_left_for_a_reason(items: list[Belonging], seconds: int) -> None:
    answer = plan(*items, seconds=seconds, elsewhere=("x",))

    told = [s.belonging.name for s in answer.savings] + [left.belonging.name for left in answer.left_behind]
    assert sorted(told) == sorted(item.name for item in items)
    for left in answer.left_behind:
        assert left.belonging.copies_elsewhere or left.belonging.superseded_by


@given(items=belongings, seconds=some.integers(min_value=-10, max_value=300))
def test_unless_it_says_that_it_does_not_fit_nothing_is_lost_for_good(items: list[Belonging], seconds: int) -> None:
    answer = plan(*items, seconds=seconds, elsewhere=("x",))
    if answer.verdict is LeavingVerdict.DOES_NOT_FIT:
        return
    here = {item.name: item for item in items}
    saved = {s.belonging.name for s in answer.savings if s.done_at is not None}

    def can_be_had(name: str) -> bool:
        if name == "x" or name in saved:
            return True
        item = here.get(name)
        if item is None:
            return False
        return bool(item.copies_elsewhere) or (item.inputs is not None and all(can_be_had(n) for n in item.inputs))

    for item in items:
        assert can_be_had(item.name) or item.superseded_by


@given(items=belongings, seconds=some.integers(min_value=0, max_value=300))
def test_what_is_to_be_saved_in_time_takes_no_longer_than_there_is(items: list[Belonging], seconds: int) -> None:
    answer = plan(*items, seconds=seconds, elsewhere=("x",))

    in_time = [saving for saving in answer.savings if saving.done_at is not None]
    assert sum((saving.duration for saving in in_time), timedelta()) <= timedelta(seconds=seconds)
    assert [s.done_at for s in in_time] == sorted(s.done_at for s in in_time if s.done_at is not None)
    uniques = [saving.is_unique for saving in answer.savings]
    assert uniques == sorted(uniques, reverse=True)


@pytest.mark.parametrize("seconds", [0.0, 50.0, 10_000.0])
def test_more_time_never_saves_less_of_what_is_unique(seconds: float) -> None:
    items = [belonging("a", 4000), belonging("b", 1000), belonging("c", 200)]
    before, after = plan(*items, seconds=seconds), plan(*items, seconds=seconds + 20)

    def saved(answer: LeavingPlan) -> int:
        return sum(s.belonging.size_bytes for s in answer.savings if s.done_at is not None)

    assert saved(before) <= saved(after)
