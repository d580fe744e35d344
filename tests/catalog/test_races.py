"""Two operators at once, each in a session of its own: what one has checked stays so until it has marked."""

import threading
from contextlib import closing
from datetime import timedelta

import pytest

from artifactctl import audit
from artifactctl.catalog import StateChanged, StepUsed, open_catalog
from artifactctl.domain.artifacts import LineageRole, ReplicaState
from artifactctl.domain.audit import AuditAction, AuditEntry

LIVE = frozenset({ReplicaState.LIVE})


class Second:
    """Another operator, who acts in a thread as soon as it is started and reports what came of it."""

    def __init__(self, address, noon, act):
        self._address, self._noon, self._act = address, noon, act
        self.came_of_it = None
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        with closing(open_catalog(self._address, now=self._noon)) as catalog:
            self._begun.set()
            try:
                with catalog.writing("bob", self._noon) as writing:
                    self.came_of_it = self._act(writing)
            except (StateChanged, StepUsed) as refusal:
                self.came_of_it = type(refusal)

    def start_and_be_kept_waiting(self):
        """Start, and see that it does not get ahead while the first operator is between check and mark."""
        self._thread.start()
        assert self._begun.wait(60)
        self._thread.join(0.4)
        assert self._thread.is_alive()

    def end(self):
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.came_of_it


@pytest.fixture
def second(catalog_address, noon):
    return lambda act: Second(catalog_address, noon, act)


def mark(writing, artifact):
    writing.change_state(artifact.replicas[0].replica_id, expected=LIVE, to=ReplicaState.QUARANTINING)
    return "marked"


def test_a_lease_cannot_come_between_check_and_mark(catalog, place, second, noon):
    artifact = place("a")
    until = noon + timedelta(hours=1)
    other = second(lambda writing: writing.grant_lease(artifact.artifact_id, owner="job", host="h", expires_at=until))

    with catalog.writing("ada", noon) as writing:
        assert writing.leases(noon, artifact_ids=[artifact.artifact_id]) == ()
        other.start_and_be_kept_waiting()
        mark(writing, artifact)

    assert other.end() is StateChanged


def test_who_checks_after_a_lease_was_begun_sees_it(catalog, place, second, noon):
    artifact = place("a")
    until = noon + timedelta(hours=1)
    other = second(lambda writing: len(writing.leases(noon, artifact_ids=[artifact.artifact_id])))

    with catalog.writing("ada", noon) as writing:
        writing.grant_lease(artifact.artifact_id, owner="job", host="h", expires_at=until)
        other.start_and_be_kept_waiting()

    assert other.end() == 1


def test_a_hold_comes_before_the_check_or_after_the_mark(catalog, place, second, noon):
    artifact = place("a")

    def hold_it(writing):
        writing.place_hold(artifact.artifact_id, reason="keep")
        return writing.replica(artifact.replicas[0].replica_id).state

    other = second(hold_it)
    with catalog.writing("ada", noon) as writing:
        assert writing.holds(artifact_ids=[artifact.artifact_id]) == ()
        other.start_and_be_kept_waiting()
        mark(writing, artifact)

    assert other.end() is ReplicaState.QUARANTINING  # so a purge, which asks again, will find the hold


def test_a_descendant_that_is_linked_meanwhile_sees_that_its_parent_goes(catalog, place, second, noon):
    parent, child = place("parent"), place("child")

    def link(writing):
        writing.add_lineage(child.artifact_id, parent.artifact_id, LineageRole.EXTRACTED_FROM)
        return writing.artifact_by_id(parent.artifact_id).is_live

    other = second(link)
    with catalog.writing("ada", noon) as writing:
        assert writing.children(parent.artifact_id) == ()
        other.start_and_be_kept_waiting()
        mark(writing, parent)

    assert other.end() is False


def test_two_who_each_remove_the_only_input_of_the_other_do_not_both(catalog, place, second, noon):
    """The classic write skew: each reads what the other one writes."""
    first_artifact, second_artifact = place("one"), place("two")

    def mark_if_the_other_lives(writing, goes, must_live):
        return mark(writing, goes) if writing.artifact_by_id(must_live.artifact_id).is_live else "kept"

    other = second(lambda writing: mark_if_the_other_lives(writing, second_artifact, first_artifact))
    with catalog.writing("ada", noon) as writing:
        assert writing.artifact_by_id(second_artifact.artifact_id).is_live
        other.start_and_be_kept_waiting()
        mark(writing, first_artifact)

    assert other.end() == "kept"


def test_a_step_of_a_plan_is_used_by_one_of_two(catalog, place, second, noon):
    other = second(lambda writing: writing.use_step("d" * 64, 0))

    with catalog.writing("ada", noon) as writing:
        assert writing.used_steps("d" * 64) == ()
        other.start_and_be_kept_waiting()
        writing.use_step("d" * 64, 0)

    assert other.end() is StepUsed


def test_of_two_overlapping_plans_one_takes_the_copy(catalog, place, second, noon):
    artifact = place("a")
    other = second(lambda writing: mark(writing, artifact))

    with catalog.writing("ada", noon) as writing:
        other.start_and_be_kept_waiting()
        mark(writing, artifact)

    assert other.end() is StateChanged


def test_the_audit_chain_of_two_writers_neither_forks_nor_has_a_gap(catalog, second, noon):
    def tell(writing, actor):
        entry = AuditEntry(at=noon, actor=actor, host="h", action=AuditAction.RUN_RECORD)
        return audit.append(writing.connection, entry)

    other = second(lambda writing: tell(writing, "bob"))
    with catalog.writing("ada", noon) as writing:
        before = writing.revision()
        mine = tell(writing, "ada")
        other.start_and_be_kept_waiting()
    theirs = other.end()

    assert (mine.event_id, theirs.event_id, theirs.previous_hash) == (1, 2, mine.hash)
    with catalog.reading() as reading:
        assert audit.verify(reading.connection).ok
        assert reading.revision() == before + 1
