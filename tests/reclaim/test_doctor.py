"""What doctor finds and repairs."""

import pytest

from artifactctl import audit
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import JournalEvent, StepOutcome
from artifactctl.hosts.protocol import ManifestNote
from artifactctl.inventory.forgetting import forget_root
from artifactctl.inventory.places import NOWHERE
from artifactctl.policy.layering import NOTHING_MAY_GO
from artifactctl.reclaim import applying, examining
from artifactctl.reclaim.quarantined import meant_by
from tests.bench.databases import ON_BOTH
from tests.fakes.steps import Killed
from tests.reclaim.ground import ROOT_PATH, Ground

pytestmark = ON_BOTH


def objects(ground: Ground) -> list[str]:
    return [finding.object for finding in examining.examine(ground.workplace)]


def test_a_sound_catalog_has_no_findings(ground: Ground) -> None:
    assert examining.examine(ground.workplace) == ()
    assert examining.repair(ground.workplace) == ()


def test_a_policy_that_cannot_be_read_is_a_finding_and_lets_nothing_go(ground: Ground) -> None:
    ground.policy = NOTHING_MAY_GO

    assert objects(ground) == ["policy"]
    assert ground.plan("hidden-old").steps == ()


def test_an_artifact_that_vanished_is_named(ground: Ground) -> None:
    ground.machine.do.rename(ROOT_PATH + b"/hidden-old", ROOT_PATH + b"/elsewhere")

    assert objects(ground) == ["hidden-old"]


def test_an_interrupted_operation_is_explained_and_then_finished(ground: Ground) -> None:
    ground.machine.restart()
    plan = ground.plan("hidden-old")
    # Step numbers count the machine's changes: the rename into quarantine is the one that leaves the old path empty.
    number = 0
    while ground.exists("hidden-old"):
        number += 1
        ground.machine.restart()
        ground.machine.kill_at(number, after=True)
        try:
            ground.apply(plan, resume=True)
        except Killed:
            ground.reopen()
            plan = ground.plan("hidden-old") if ground.state("hidden-old") is ReplicaState.LIVE else plan

    [finding] = examining.examine(ground.workplace)
    said = examining.repair(ground.workplace)

    assert finding.repairable
    assert "not looked at again" in finding.what
    assert len(said) == 1
    assert examining.examine(ground.workplace) == ()
    assert ground.state("hidden-old") is ReplicaState.QUARANTINED


def test_what_a_person_moved_out_of_the_quarantine_to_its_place_is_settled_by_one_repair(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    [aside] = ground.aside()
    [record] = ground.machine.operations(aside.replica.root)
    ground.machine.do.rename(ROOT_PATH + b"/" + record.placed, ROOT_PATH + b"/hidden-old")

    said = examining.repair(ground.workplace)

    assert len(said) == 1
    assert ground.state("hidden-old") is ReplicaState.LIVE
    assert examining.examine(ground.workplace) == ()
    assert ground.quarantine("hidden-old").steps[0].outcome is StepOutcome.QUARANTINED
    assert examining.examine(ground.workplace) == ()


def test_a_root_whose_marker_is_gone_is_named_and_left_alone(ground: Ground) -> None:
    ground.machine.do.unlink(ROOT_PATH + b"/.artifactctl/root.json")

    assert objects(ground) == ["root data"]


def test_what_another_catalog_set_aside_is_taken_in_restorable_and_never_purged(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    step = plan.steps[0]
    note = ManifestNote(
        operation="foreign-1",
        target=ManagedPath(root=ROOT_PATH, relative=b"hidden-old"),
        name="hidden-old",
        kind="hidden_states",
        identity=step.identity,
        fingerprint=step.fingerprint,
        allocated_bytes=step.allocated_bytes,
        root_id="root-1",
        catalog_id="another",
        reason="theirs",
        actor="eve",
        evidence_json="{}",
        at=ground.now(),
    )
    lock = ground.machine.lock(ground.root)
    ground.machine.intend(ground.root, note, sibling=False)
    ground.machine.set_aside(ground.root, "foreign-1")
    ground.machine.confirm(ground.root, "foreign-1")
    lock.release()

    found = [item for item in examining.examine(ground.workplace) if item.repairable]
    examining.repair(ground.workplace)
    purge = ground.purge()
    back = ground.restore()

    assert [item.object for item in found] == ["operation foreign-1"]
    assert [step.outcome for step in purge.steps] == [StepOutcome.REFUSED]
    assert [step.outcome for step in back.steps] == [StepOutcome.RESTORED]
    assert ground.exists("hidden-old")


def test_a_purge_that_cannot_be_completed_is_not_called_done_and_names_what_is_left(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    late = ROOT_PATH + b"/.artifactctl/quarantine/op1-1.purging/content/late"
    ground.machine.points.after_call("begin_purge", lambda: ground.machine.do.write(late, b"late"))

    result = ground.purge()
    said = examining.repair(ground.workplace)

    assert [step.outcome for step in result.steps] == [StepOutcome.FAILED]
    assert said == ()
    assert any("late" in sentence for sentence in ground.said)
    [finding] = examining.examine(ground.workplace)
    assert (finding.object, finding.repairable) == ("operation op1-1", False)
    assert late.decode() in finding.what
    assert "quarantine purge op1-1" in finding.remedy
    assert ground.machine.disk.exists(late)


@pytest.mark.parametrize("way", ["quarantine purge", "doctor --repair"])
def test_a_purge_that_a_late_file_stopped_is_completed_when_that_was_moved_out(ground: Ground, way: str) -> None:
    ground.quarantine("hidden-old")
    late = ROOT_PATH + b"/.artifactctl/quarantine/op1-1.purging/content/late"
    ground.machine.points.after_call("begin_purge", lambda: ground.machine.do.write(late, b"late"))
    ground.purge()
    ground.machine.do.rename(late, ROOT_PATH + b"/late")

    [waiting] = examining.examine(ground.workplace)
    if way == "quarantine purge":
        with ground.catalog.reading() as reading:
            items = meant_by(reading, ["hidden-old"], here=NOWHERE, to_purge=True)
        [step] = applying.purge(ground.workplace, items, reason="old").steps
        assert (step.outcome, step.detail) == (StepOutcome.PURGED, "")
        assert step.measured_freed_bytes is not None
    else:
        assert len(examining.repair(ground.workplace)) == 1

    assert waiting.repairable
    assert ground.state("hidden-old") is ReplicaState.GONE
    assert examining.examine(ground.workplace) == ()
    with ground.catalog.reading() as reading:
        events = audit.newest(reading.connection, 50)
    assert AuditAction.PURGE_DONE in {event.entry.action for event in events}
    assert ground.machine.disk.exists(ROOT_PATH + b"/late")


def taken_away(ground: Ground) -> bytes:
    """Set `hidden-old` aside and move it out of the quarantine by hand; returns where it lay."""
    ground.quarantine("hidden-old")
    [aside] = ground.aside()
    [record] = ground.machine.operations(aside.replica.root)
    placed = ROOT_PATH + b"/" + record.placed
    ground.machine.do.rename(placed, ROOT_PATH + b"/somewhere")
    return placed


def test_what_vanished_from_quarantine_is_recorded_as_missing_once_a_person_confirms_it(ground: Ground) -> None:
    taken_away(ground)

    [finding] = examining.examine(ground.workplace)
    unasked = examining.repair(ground.workplace)
    state_unasked = ground.state("hidden-old")
    said = examining.give_up(ground.workplace, examining.lost(ground.workplace))

    assert "neither at its place nor in quarantine" in finding.what
    assert (unasked, state_unasked) == ((), ReplicaState.QUARANTINED)
    assert len(said) == 1
    assert ground.state("hidden-old") is ReplicaState.MISSING
    assert examining.examine(ground.workplace) == ()
    with ground.catalog.reading() as reading:
        [event] = audit.newest(reading.connection, 1)
        [operation] = reading.operations(root_id="root-1")
    assert (event.entry.action, event.entry.artifact) == (AuditAction.RECOVER_LOST, "hidden-old")
    assert operation.state is JournalEvent.LOST
    forget_root(ground.catalog, "data", now=ground.now(), actor="ada@node-1")


def test_what_turns_up_again_before_it_was_given_up_is_not_lost(ground: Ground) -> None:
    placed = taken_away(ground)
    items = examining.lost(ground.workplace)
    ground.machine.do.rename(ROOT_PATH + b"/somewhere", placed)

    assert examining.give_up(ground.workplace, items) == ()
    assert examining.examine(ground.workplace) == ()
    assert ground.state("hidden-old") is ReplicaState.QUARANTINED


def test_a_partly_emptied_quarantine_is_not_lost(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    [aside] = ground.aside()
    [record] = ground.machine.operations(aside.replica.root)
    ground.machine.do.unlink(ROOT_PATH + b"/" + record.placed + b"/shard-0")

    assert examining.lost(ground.workplace) == ()
    assert [step.outcome for step in ground.purge().steps] == [StepOutcome.REFUSED]
    assert [step.outcome for step in ground.restore().steps] == [StepOutcome.RESTORED]


def test_something_else_in_its_place_is_neither_lost_nor_taken_for_it(ground: Ground) -> None:
    placed = taken_away(ground)
    ground.machine.do.mkdir(placed)

    [finding] = examining.examine(ground.workplace)

    assert examining.lost(ground.workplace) == ()
    assert not finding.repairable
    assert placed.decode() in finding.what


def test_a_crash_between_journal_and_catalog_leaves_it_missing_after_the_next_repair(ground: Ground) -> None:
    taken_away(ground)
    ground.machine.give_up(ground.root, "op1-1", "confirmed")

    examining.repair(ground.workplace)

    assert ground.state("hidden-old") is ReplicaState.MISSING
    assert examining.examine(ground.workplace) == ()
