"""Whoever is alone notices: a frozen agent, a killed one, one that is slow, and an agent whose asker has gone."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.domain.errors import Busy, HostUnreachable, OutcomeUnknown
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe.points import VARIABLE
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire.channel import ChannelLost
from artifactctl.hosts.wire.pipe import PipeChannel
from tests.bench.sandbox import CHECKOUT
from tests.hosts.act_ground import Ground, managed, picture, plant
from tests.hosts.wire.links import BRISK, agent, pipe


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A root with one tree in it."""
    made = managed(tmp_path)
    plant(made.at("old"), files=20)
    return made


def eventually(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it becomes so in time."""
    ends_at = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() >= ends_at:
            return False
        time.sleep(0.02)
    return True


def write_until_lost(channel: PipeChannel) -> None:
    for _ in range(100):
        channel.write(b"x" * 1000)
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Whether it has not ended."""
    return os.path.exists(f"/proc/{process}")


def in_background(act: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Start it in a thread; what it raises is in the list."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as failure:  # noqa: BLE001 - looked at by the test
            raised.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def test_a_frozen_agent_is_given_up(ground: Ground) -> None:
    with agent(BRISK) as host:
        os.kill(host.greeting.process, signal.SIGSTOP)
        begun = time.monotonic()

        with pytest.raises(OutcomeUnknown, match=r"nothing was heard for 2\.5 seconds"):
            replace(ground, host=host).intend("old")

        assert time.monotonic() - begun < 15


def test_a_long_purge_is_no_silence(ground: Ground) -> None:
    ground.condemn("old")

    with agent(BRISK) as host:
        result = replace(ground, host=host).purge(files_per_second=10.0)

    assert result.complete
    assert result.removed_files > 2.5 * 10  # it took longer than the silence that is allowed


def test_a_killed_agent_is_noticed_at_once(ground: Ground) -> None:
    with agent() as host:
        thread, raised = in_background(lambda: host.activity(ground.path, seconds=30))
        os.kill(host.greeting.process, signal.SIGKILL)
        thread.join(10)

        assert [type(failure) for failure in raised] == [HostUnreachable]
        assert "the agent ended" in host.lost


def test_an_agent_that_ended_before_the_question_says_its_last_words(ground: Ground) -> None:
    channel = PipeChannel((sys.executable, "-c", "import sys; sys.exit('sudo: a password is required')"))
    try:
        with pytest.raises(ChannelLost, match=r"^the agent ended: sudo: a password is required$"):
            write_until_lost(channel)
    finally:
        channel.close()


def test_a_lock_is_lost_with_its_connection(ground: Ground) -> None:
    with agent() as host:
        lock = host.lock(ground.root)
        assert lock.still_held()

        os.kill(host.greeting.process, signal.SIGKILL)

        assert not lock.still_held()
        with pytest.raises(HostUnreachable):
            replace(ground, host=host).intend("old")
        lock.release()
    ground.host.lock(ground.root).release()


def test_closing_it_ends_the_agent_and_its_locks(ground: Ground) -> None:
    host = agent()
    host.lock(ground.root)

    host.close()

    assert not is_running(host.greeting.process)
    ground.host.lock(ground.root).release()


ASKER = """
import sys, threading
from tests.bench.sandbox import CHECKOUT
from tests.hosts.act_ground import described
from tests.hosts.wire.links import BRISK, agent
host = agent(BRISK)
host.lock(described(sys.argv[1].encode()))
print(host.greeting.process, flush=True)
threading.Event().wait()
"""


def test_an_agent_whose_asker_is_frozen_gives_up_its_locks_and_ends(ground: Ground) -> None:
    words = (sys.executable, "-c", ASKER, os.fsdecode(ground.path))
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=CHECKOUT) as asker:
        assert asker.stdout is not None
        process = int(asker.stdout.readline())
        with pytest.raises(Busy):
            ground.host.lock(ground.root)

        asker.send_signal(signal.SIGSTOP)
        ended = eventually(lambda: has_ended(process))
        ground.host.lock(ground.root).release()
        asker.kill()

    assert ended


def has_ended(process: int) -> bool:
    """Whether it is gone, or only its parent has yet to hear of it."""
    if not is_running(process):
        return True
    return state_of(process) == "Z"


def state_of(process: int) -> str:
    """Return the letter that the kernel has for what it does."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_a_purge_stops_between_two_members_when_its_asker_goes(ground: Ground) -> None:
    ground.condemn("old")
    host = agent(BRISK)
    told: list[int] = []

    thread, raised = in_background(
        lambda: replace(ground, host=host).purge(
            files_per_second=20.0, progress=lambda files, removed: told.append(files)
        )
    )
    assert eventually(lambda: len(told) > 2)
    host.close()
    thread.join(10)

    assert [type(failure) for failure in raised] == [OutcomeUnknown]
    assert ground.record().event is JournalEvent.PURGING
    left = picture(ground.quarantine("op1.purging/content"))
    assert len(left) > 0
    rest = ground.purge()
    assert rest.complete
    assert rest.removed_files > 0


def test_an_act_that_was_begun_is_finished_before_the_agent_ends(ground: Ground, tmp_path: Path) -> None:
    """Held at a point inside of its rename, and left alone there: nobody else gets the lock before it is done."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    ground.intend("old")
    channel = pipe(**{VARIABLE: f"set-aside:renamed=fifo:{gate}"})
    host = RemoteHost(channel, machine="gpu1")
    thread, raised = in_background(lambda: replace(ground, host=host).host.set_aside(ground.root, "op1"))
    assert eventually(lambda: os.path.lexists(ground.quarantine("op1/content")))

    closing = threading.Thread(target=host.close)
    closing.start()
    with open(gate, "wb"):
        pass  # it goes on
    closing.join(10)
    thread.join(10)

    assert [type(failure) for failure in raised] == [OutcomeUnknown]
    assert ground.record().event is JournalEvent.RENAMED


def test_other_questions_are_answered_while_an_act_takes_its_time(ground: Ground, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with RemoteHost(pipe(**{VARIABLE: f"intend:begun=fifo:{gate}"}), machine="gpu1") as host:
        thread, raised = in_background(lambda: replace(ground, host=host).intend("old"))
        assert eventually(lambda: _is_locked(ground))
        assert host.resolve(b"/usr") == (b"/usr", None)
        with open(gate, "wb"):
            pass  # it goes on
        thread.join(10)

    assert raised == []


def _is_locked(ground: Ground) -> bool:
    """Whether somebody has written a name into the lock; taking it to see would be in the way."""
    return bool(Path(os.fsdecode(ground.at(".artifactctl/lock"))).read_bytes().strip())


def test_a_process_that_was_stopped_there_goes_on_when_the_connection_ends() -> None:
    with subprocess.Popen(("sleep", "60")) as writer:
        with agent() as host:
            seen = host.processes.find(writer.pid)
            assert seen is not None
            assert host.processes.stop((seen,)) == (seen,)
            assert eventually(lambda: state_of(writer.pid) == "T")
            assert host.greeting.process in host.processes.own_line()

        resumed = eventually(lambda: state_of(writer.pid) == "S")
        writer.kill()

    assert resumed
    assert host.lost
