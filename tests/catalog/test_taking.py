"""How much went in a day and in the last runs, by the operations that the catalog has."""

from datetime import timedelta

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.ledger import Taken
from artifactctl.domain.operations import JournalEvent

DAY = timedelta(days=1)


@pytest.fixture
def went(place, catalog):
    """Return a function that records that something was set aside at an instant under a plan."""

    def record(name, at, *, plan="p" * 64):
        replica = place(name).replicas[0]
        with catalog.writing("ada", at) as writing:
            if not writing.used_steps(plan):
                writing.use_step(plan, 0)
            writing.add_operation(name, replica.replica_id, plan_digest=plan, state=JournalEvent.QUARANTINED)
        return replica.allocated_bytes

    return record


def of_day(catalog, noon, days=0):
    midnight = noon.replace(hour=0) + days * DAY
    with catalog.reading() as reading:
        return reading.taken_between(midnight, midnight + DAY)


def ends(catalog, at, **states):
    with catalog.writing("ada", at) as writing:
        for name, state in states.items():
            writing.update_operation(name, state=state)


def test_what_was_set_aside_on_a_day_counts_for_that_day(went, catalog, noon):
    size = went("a", noon) + went("b", noon.replace(hour=0))
    went("c", noon - DAY)
    went("d", noon.replace(hour=0) + DAY)

    assert of_day(catalog, noon) == Taken(bytes=size, artifacts=2)


def test_what_was_put_back_or_never_moved_does_not_count(went, catalog, noon):
    went("a", noon)
    went("b", noon)
    ends(catalog, noon, a=JournalEvent.RESTORED, b=JournalEvent.ABANDONED)

    assert of_day(catalog, noon) == Taken()


def test_a_purge_counts_for_its_day_and_once_where_both_are_one(went, catalog, noon):
    went("a", noon)
    went("b", noon + DAY)
    ends(catalog, noon + DAY, a=JournalEvent.PURGED, b=JournalEvent.PURGED)

    assert of_day(catalog, noon).artifacts == 1
    assert of_day(catalog, noon, days=1).artifacts == 2
    assert of_day(catalog, noon, days=2).artifacts == 0


def test_the_last_runs_come_newest_first_and_without_what_came_to_nothing(went, catalog, noon):
    for number in range(4):
        went(f"x{number}", noon + number * DAY, plan=str(number) * 64)
    went("again", noon + DAY, plan="1" * 64)
    ends(catalog, noon + 4 * DAY, x3=JournalEvent.RESTORED)

    with catalog.reading() as reading:
        assert [run.artifacts for run in reading.last_runs(2)] == [1, 2]
        assert [run.artifacts for run in reading.last_runs(5, without="1" * 64)] == [1, 1]


def test_only_what_has_a_live_copy_is_alive(place, catalog, noon):
    place("a")
    place("b")

    with catalog.reading() as reading:
        (count,) = reading.live_by_kind().values()
        assert count == 2
        assert set(reading.live_by_kind()) <= set(ArtifactKind)
