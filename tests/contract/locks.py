"""Contract: one operator at a time, and one who lost the right notices."""

import pytest

from artifactctl.domain.errors import Busy, HostFailure
from tests.contract.workshop import Workshop, scene


class LockContract:
    """`lock`."""

    def test_a_second_operator_is_refused_until_the_first_gives_up(self, workshop: Workshop) -> None:
        made = scene(workshop)
        lock = workshop.host.lock(made.root)

        with pytest.raises(Busy) as refusal:
            workshop.host.lock(made.root)
        lock.release()
        workshop.host.lock(made.root).release()

        assert refusal.value.message
        assert refusal.value.remedy

    def test_a_lock_says_that_it_is_held(self, workshop: Workshop) -> None:
        lock = workshop.host.lock(scene(workshop).root)

        held = lock.still_held()
        lock.release()

        assert held
        assert not lock.still_held()

    def test_two_roots_have_two_locks(self, workshop: Workshop) -> None:
        first = workshop.host.lock(scene(workshop, b"one").root)
        second = workshop.host.lock(scene(workshop, b"two").root)

        assert first.still_held()
        assert second.still_held()
        first.release()
        second.release()

    def test_a_lock_that_was_taken_away_is_noticed(self, workshop: Workshop) -> None:
        made = scene(workshop)
        lock = workshop.host.lock(made.root)

        workshop.take_lock_away(made.root)

        assert not lock.still_held()
        lock.release()

    def test_who_lost_the_lock_changes_nothing(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        lock = workshop.host.lock(made.root)
        workshop.take_lock_away(made.root)

        with pytest.raises(HostFailure):
            workshop.host.set_aside(made.root, made.operation)
        lock.release()

        assert workshop.exists(made.path + b"/config.json")

    def test_releasing_twice_takes_nothing_from_the_next_holder(self, workshop: Workshop) -> None:
        made = scene(workshop)
        first = workshop.host.lock(made.root)
        first.release()
        second = workshop.host.lock(made.root)

        first.release()

        assert second.still_held()
        second.release()
