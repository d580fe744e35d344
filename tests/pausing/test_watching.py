"""A real process, stopped and let go on by what a volume in memory says."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from artifactctl.domain.errors import HostFailure, UsageError
from artifactctl.hosts.local_processes import LocalProcesses
from artifactctl.hosts.processes import RunningProcess
from artifactctl.pausing.choosing import MayNotBePaused, choose_writer
from artifactctl.pausing.thresholds import Step, Thresholds
from artifactctl.pausing.watching import Watch, watch
from artifactctl.report.pausing import WatchResult
from tests.fakes.machine import FakeMachine

MIB = 2**20
PARENT_AND_CHILD = "import os,time; os.fork(); print(os.getpid(), flush=True); time.sleep(60)"

Started = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Started]:
    """Start a process with one child; both have said that they run."""
    started: list[subprocess.Popen[str]] = []

    def family() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT_AND_CHILD], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        assert process.stdout is not None
        for _ in range(2):
            process.stdout.readline()
        return process

    yield family
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def found(pid: int) -> RunningProcess:
    process = LocalProcesses().find(pid)
    assert process is not None
    return process


def settled(pid: int, *, stopped: bool) -> bool:
    """Whether the process reaches the state; a signal takes a moment."""
    for _ in range(200):
        if found(pid).is_stopped is stopped:
            return True
        time.sleep(0.01)
    return False


class Script:
    """What happens to the volume at each sleep of the watch, until it is asked to stop."""

    def __init__(self, machine: FakeMachine, *acts: Callable[[], object]) -> None:
        self.machine = machine
        self.said: list[str] = []
        self._acts = list(acts)

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 1
        self._acts.pop(0)()

    def watch(self, pid: int) -> WatchResult:
        thresholds = Thresholds.of(16 * MIB, 24 * MIB)
        return watch(
            Watch(
                host=self.machine,
                processes=LocalProcesses(),
                writer=found(pid),
                path=b"/scratch",
                thresholds=thresholds,
                say=self.said.append,
                should_stop=lambda: not self._acts,
                sleep=self.sleep,
            )
        )


@pytest.fixture
def machine() -> FakeMachine:
    machine = FakeMachine()
    machine.add_volume(b"/scratch", size_bytes=64 * MIB)
    return machine


def fill(machine: FakeMachine, *, leave: int) -> None:
    available = machine.usage(b"/scratch").available_bytes
    machine.do.write(b"/scratch/filler", b"x" * (available - leave))


def test_the_writer_and_its_child_stop_below_and_go_on_above(machine: FakeMachine, start: Started) -> None:
    process = start()
    (child,) = [each.pid for each in LocalProcesses().family(found(process.pid))[1:]]
    states = []

    def look() -> None:
        states.append((settled(process.pid, stopped=True), settled(child, stopped=True)))
        machine.do.unlink(b"/scratch/filler")

    def look_again() -> None:
        states.append((settled(process.pid, stopped=False), settled(child, stopped=False)))

    script = Script(machine, lambda: fill(machine, leave=10 * MIB), look, look_again)
    result = script.watch(process.pid)

    assert states == [(True, True), (True, True)]
    assert (result.end, result.pauses) == ("stopped", 1)
    assert result.lowest_available_bytes is not None
    assert result.lowest_available_bytes < 16 * MIB
    assert [sentence.split()[0] for sentence in script.said] == ["paused", "should", "process"]
    assert f"kill -CONT {process.pid} {child}" in script.said[1]


def test_between_the_thresholds_nothing_changes(machine: FakeMachine, start: Started) -> None:
    process = start()
    script = Script(machine, lambda: fill(machine, leave=20 * MIB), lambda: None)

    result = script.watch(process.pid)

    assert (result.pauses, script.said) == (0, [])
    assert not found(process.pid).is_stopped


def test_a_watch_that_is_stopped_leaves_the_writer_running(machine: FakeMachine, start: Started) -> None:
    process = start()
    fill(machine, leave=MIB)

    result = Script(machine, lambda: None).watch(process.pid)

    assert (result.end, result.pauses) == ("stopped", 1)
    assert settled(process.pid, stopped=False)


def test_a_watch_that_fails_leaves_the_writer_running(machine: FakeMachine, start: Started) -> None:
    process = start()
    fill(machine, leave=MIB)

    def pull_the_volume() -> None:
        assert settled(process.pid, stopped=True)
        raise HostFailure("the volume does not answer")

    with pytest.raises(HostFailure):
        Script(machine, pull_the_volume).watch(process.pid)

    assert settled(process.pid, stopped=False)


def test_a_part_that_somebody_lets_go_on_is_stopped_again(machine: FakeMachine, start: Started) -> None:
    process = start()
    fill(machine, leave=MIB)
    again = []

    def let_go_by_hand() -> None:
        os.kill(process.pid, signal.SIGCONT)
        assert settled(process.pid, stopped=False)

    script = Script(machine, let_go_by_hand, lambda: again.append(settled(process.pid, stopped=True)), lambda: None)
    script.watch(process.pid)

    assert again == [True]


def test_what_somebody_else_had_stopped_is_not_let_go_on(machine: FakeMachine, start: Started) -> None:
    process = start()
    os.kill(process.pid, signal.SIGSTOP)
    (child,) = [each.pid for each in LocalProcesses().family(found(process.pid))[1:]]
    assert settled(process.pid, stopped=True)
    fill(machine, leave=MIB)

    Script(machine, lambda: None).watch(process.pid)

    assert settled(child, stopped=False)
    assert found(process.pid).is_stopped


def test_the_watch_ends_with_the_writer(machine: FakeMachine, start: Started) -> None:
    process = start()
    fill(machine, leave=MIB)
    (child,) = [each.pid for each in LocalProcesses().family(found(process.pid))[1:]]

    def kill() -> None:
        os.kill(process.pid, signal.SIGKILL)
        while LocalProcesses().find(process.pid) is not None:
            time.sleep(0.01)

    result = Script(machine, kill, lambda: None).watch(process.pid)

    assert (result.end, result.pauses) == ("writer_ended", 1)
    assert settled(child, stopped=False)


def test_a_later_process_with_the_same_number_is_left_alone(start: Started) -> None:
    process = start()
    known = found(process.pid)
    namesake = RunningProcess(
        pid=known.pid, started_ticks=known.started_ticks - 1, command=known.command, is_stopped=False
    )
    processes = LocalProcesses()

    assert not processes.is_running(namesake)
    assert processes.family(namesake) == ()
    assert processes.stop([namesake]) == ()
    assert not found(process.pid).is_stopped


@pytest.mark.parametrize("pid", [1, os.getpid(), os.getppid()], ids=["process 1", "itself", "its parent"])
def test_the_guard_never_stops_itself_what_it_runs_in_or_process_1(pid: int) -> None:
    with pytest.raises(MayNotBePaused):
        choose_writer(LocalProcesses(), pid)


def test_a_process_that_is_not_there_is_an_error() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    with pytest.raises(UsageError, match=f"there is no process {ended.pid}"):
        choose_writer(LocalProcesses(), ended.pid)


@pytest.mark.parametrize(
    ("available", "is_paused", "step"),
    [
        (16 * MIB, False, Step.NOTHING),
        (16 * MIB - 1, False, Step.PAUSE),
        (16 * MIB - 1, True, Step.NOTHING),
        (24 * MIB, True, Step.NOTHING),
        (24 * MIB + 1, True, Step.RESUME),
        (24 * MIB + 1, False, Step.NOTHING),
    ],
    ids=["just enough", "too little", "already paused", "not yet", "room again", "running with room"],
)
def test_the_two_thresholds(available: int, is_paused: bool, step: Step) -> None:
    assert Thresholds.of(16 * MIB, 24 * MIB).step(available, is_paused=is_paused) is step


def test_it_goes_on_at_half_as_much_room_again_by_default() -> None:
    assert Thresholds.of(100, None).resume_above_bytes == 150


@pytest.mark.parametrize(("below", "above"), [(0, None), (100, 100), (100, 50)])
def test_thresholds_that_make_no_sense_are_refused(below: int, above: int | None) -> None:
    with pytest.raises(UsageError):
        Thresholds.of(below, above)


def test_a_fast_writer_is_looked_at_more_often() -> None:
    thresholds = Thresholds.of(16 * MIB, 24 * MIB)

    slow = thresholds.wait_seconds(64 * MIB, bytes_per_second=MIB)
    fast = thresholds.wait_seconds(20 * MIB, bytes_per_second=10 * MIB)

    assert slow == 1.0
    assert fast == pytest.approx(0.1)
