"""The instruments of the in-memory machine do what tests of the engine rely on."""

import errno
from datetime import timedelta

import pytest

from artifactctl.domain.errors import Busy, HostFailure
from artifactctl.domain.observation import HolderKind
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import PutBack, SetAside
from tests.contract.fake_workshop import FakeWorkshop
from tests.contract.workshop import Scene, scene
from tests.fakes.machine import FakeMachine
from tests.fakes.steps import Killed


@pytest.fixture
def workshop() -> FakeWorkshop:
    """A new machine in memory."""
    return FakeWorkshop()


@pytest.fixture
def machine(workshop: FakeWorkshop) -> FakeMachine:
    """The machine of the workshop."""
    return workshop.machine


@pytest.fixture
def made(workshop: FakeWorkshop) -> Scene:
    """A root with a target whose removal was intended; steps count from here."""
    made = scene(workshop).dump()
    made.intend()
    workshop.machine.restart()
    return made


def test_set_aside_is_four_steps(machine: FakeMachine, made: Scene) -> None:
    machine.steps.log.clear()

    made.host.set_aside(made.root, made.operation)

    assert [step.primitive for step in machine.steps.log] == ["rename", "fsync", "fsync", "append"]


@pytest.mark.parametrize(
    ("number", "after", "event", "moved"),
    [
        (1, False, JournalEvent.INTENDED, False),
        (1, True, JournalEvent.INTENDED, True),
        (4, False, JournalEvent.INTENDED, True),
        (4, True, JournalEvent.RENAMED, True),
    ],
    ids=["before the rename", "after the rename", "before the journal", "after the journal"],
)
def test_a_kill_leaves_what_was_done_until_then(
    machine: FakeMachine, made: Scene, number: int, after: bool, event: JournalEvent, moved: bool
) -> None:
    machine.kill_at(number, after=after)

    with pytest.raises(Killed):
        made.host.set_aside(made.root, made.operation)
    machine.restart()

    assert (made.record().event, made.record().in_quarantine) == (event, moved)


def test_a_dead_program_does_nothing_more_not_even_cleaning_up(machine: FakeMachine, made: Scene) -> None:
    machine.kill_at(1)
    with pytest.raises(Killed):
        made.host.set_aside(made.root, made.operation)

    with pytest.raises(Killed):
        made.host.abandon(made.root, made.operation, "in a finally block")
    machine.restart()

    assert made.record().event is JournalEvent.INTENDED


def test_an_except_clause_for_exceptions_does_not_catch_a_kill() -> None:
    assert not issubclass(Killed, Exception)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (errno.EXDEV, SetAside.CROSS_DEVICE),
        (errno.ENOSPC, SetAside.NO_SPACE),
        (errno.EPERM, SetAside.DENIED),
        (errno.EBUSY, SetAside.MOUNTED),
        (errno.EEXIST, SetAside.OCCUPIED),
    ],
    ids=lambda value: errno.errorcode[value] if isinstance(value, int) else value,
)
def test_an_injected_errno_becomes_its_outcome_once(
    machine: FakeMachine, made: Scene, code: int, outcome: SetAside
) -> None:
    machine.fail("rename", code)

    assert made.host.set_aside(made.root, made.operation) is outcome
    assert made.record().at_original
    assert made.host.set_aside(made.root, made.operation) is SetAside.DONE


def test_an_errno_without_an_outcome_is_a_failure_of_the_host(machine: FakeMachine, made: Scene) -> None:
    machine.fail("rename", errno.EIO)

    with pytest.raises(HostFailure, match="EIO"):
        made.host.set_aside(made.root, made.operation)


def test_a_journal_that_cannot_be_written_is_a_failure_after_the_rename(machine: FakeMachine, made: Scene) -> None:
    machine.fail("append", errno.EIO)

    with pytest.raises(HostFailure):
        made.host.set_aside(made.root, made.operation)

    assert (made.record().event, made.record().in_quarantine) == (JournalEvent.INTENDED, True)


def test_a_whole_call_can_be_made_to_fail(machine: FakeMachine, made: Scene) -> None:
    machine.points.fail_call("observe", HostFailure("the server does not answer"))

    with pytest.raises(HostFailure, match="does not answer"):
        made.observe()

    assert made.observe().identity is not None


def test_a_race_between_rename_and_look_is_seen_by_the_look(machine: FakeMachine, made: Scene) -> None:
    machine.points.after_call("set_aside", lambda: made.workshop.write(made.placed + b"/rows/shard-9", b"late"))
    made.host.set_aside(made.root, made.operation)

    seen = made.host.observe_quarantined(made.root, made.operation).tree

    assert seen is not None
    assert seen.fingerprint != made.record().fingerprint


def test_a_race_before_a_step_comes_between_check_and_rename(machine: FakeMachine, made: Scene) -> None:
    machine.steps.race(1, lambda: made.workshop.write(made.path + b"/rows/shard-9", b"late"))

    assert made.host.set_aside(made.root, made.operation) is SetAside.DONE

    assert made.workshop.exists(made.placed + b"/rows/shard-9")


def test_the_old_path_can_be_made_again_meanwhile(machine: FakeMachine, made: Scene) -> None:
    machine.points.before_call("put_back", lambda: made.workshop.write(made.path + b"/new", b"new"))
    made.host.set_aside(made.root, made.operation)

    assert made.host.put_back(made.root, made.operation, to=None, reason="busy") is PutBack.OCCUPIED


def test_a_holder_that_nobody_can_see_is_betrayed_by_the_lease(machine: FakeMachine, made: Scene) -> None:
    with machine.processes.hold(made.path + b"/config.json", HolderKind.MAPPING, visible=False):
        seen = made.host.holders(made.path)

    assert [holder.kind for holder in seen.holders] == [HolderKind.KERNEL_LEASE]
    assert not seen.leases_settle_openers


def test_an_open_file_keeps_its_blocks_after_the_purge(machine: FakeMachine, made: Scene) -> None:
    made.host.set_aside(made.root, made.operation)
    before = made.host.usage(made.root.path).available_bytes
    holder = machine.processes.hold(made.placed + b"/rows/shard-0")
    made.host.confirm(made.root, made.operation)
    made.host.begin_purge(made.root, made.operation)

    result = made.host.purge(made.root, made.operation)
    held = made.host.usage(made.root.path).available_bytes
    holder.close()
    freed = made.host.usage(made.root.path).available_bytes

    assert result.complete
    assert freed - held == 8192
    assert held > before


def test_late_blocks_are_free_after_settling(workshop: FakeWorkshop, made: Scene) -> None:
    workshop.volume.frees_late = True
    made.host.set_aside(made.root, made.operation)
    made.host.confirm(made.root, made.operation)
    made.host.begin_purge(made.root, made.operation)
    made.host.purge(made.root, made.operation)
    early = made.host.usage(made.root.path).available_bytes

    late = made.host.settle(made.root.path, target_available_bytes=None, deadline_seconds=1).available_bytes

    assert late > early


def test_a_deadline_that_passes_moves_the_clock(machine: FakeMachine) -> None:
    before = machine.now()

    machine.settle(b"/", target_available_bytes=1 << 60, deadline_seconds=2)

    assert machine.now() - before == timedelta(seconds=2)


def test_the_clock_can_be_set_back(machine: FakeMachine) -> None:
    before = machine.now()

    machine.clock.advance(timedelta(days=-1))

    assert machine.now() - before == timedelta(days=-1)


def test_changes_without_a_lock_are_counted(machine: FakeMachine, made: Scene) -> None:
    machine.locks.unlocked_changes = 0
    lock = made.host.lock(made.root)
    made.host.set_aside(made.root, made.operation)
    lock.release()
    assert machine.locks.unlocked_changes == 0

    made.host.confirm(made.root, made.operation)
    assert machine.locks.unlocked_changes == 1


def test_an_operator_elsewhere_keeps_everybody_out(machine: FakeMachine, made: Scene) -> None:
    machine.locks.steal(made.root)

    with pytest.raises(Busy):
        made.host.set_aside(made.root, made.operation)


def test_a_copy_of_a_machine_goes_its_own_way(machine: FakeMachine, made: Scene) -> None:
    twin = machine.copy()

    twin.set_aside(made.root, made.operation)

    assert made.record().at_original
    assert not twin.disk.exists(made.path)
    assert [record.in_quarantine for record in twin.operations(made.root)] == [True]


def test_every_change_of_a_removal_stays_below_the_root(machine: FakeMachine, made: Scene) -> None:
    made.host.set_aside(made.root, made.operation)
    made.host.confirm(made.root, made.operation)
    made.host.begin_purge(made.root, made.operation)
    made.host.purge(made.root, made.operation)

    assert all(step.path.startswith(made.root.path + b"/") for step in machine.steps.log)


def test_looking_makes_no_step(machine: FakeMachine, made: Scene) -> None:
    machine.steps.log.clear()

    made.observe()
    made.host.holders(made.path)
    made.host.referrers([made.root.path], [made.path])
    made.host.placement(made.root, made.target)
    made.host.operations(made.root)
    list(made.host.walk(made.root.path))

    assert machine.steps.log == []


def test_a_folder_that_cannot_be_read_is_a_problem_and_not_silence(machine: FakeMachine, made: Scene) -> None:
    machine.disk.find(made.path + b"/rows").inode.read_error = errno.EIO

    _, problems = made.host.referrers([made.root.path], [])
    seen = made.observe().tree

    assert problems
    assert seen is not None
    assert seen.problems


def test_somebody_who_is_not_root_is_told_what_stands_in_the_way(machine: FakeMachine, made: Scene) -> None:
    machine.disk.user = 1000
    machine.disk.find(made.path + b"/rows").inode.mode = 0o755

    obstacles = made.observe().obstacles

    assert {obstacle.path for obstacle in obstacles} == {b"", b"rows"}
    assert {obstacle.kind.value for obstacle in obstacles} == {"permission"}


def test_a_reboot_ends_every_process(machine: FakeMachine, made: Scene) -> None:
    machine.processes.hold(made.path)
    before = machine.identify().boot_id

    machine.reboot()

    assert made.host.holders(made.path).holders == ()
    assert machine.identify().boot_id != before
