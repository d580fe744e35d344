"""The watch itself: look at the volume, stop or let go on, look again."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from artifactctl.hosts.processes import Processes, RunningProcess
from artifactctl.hosts.protocol import Host
from artifactctl.pausing.thresholds import Step, Thresholds, room_bytes
from artifactctl.report.pausing import WatchResult, go_on_by_hand, going_on, left_running, paused

_MOST_ROUNDS = 50
"""A process that forks while it is being stopped is looked for so many times."""


class End(StrEnum):
    """Why a watch ended."""

    WRITER_ENDED = "writer_ended"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Whom to watch, on which volume. `say` receives one sentence an event; `should_stop` is polled."""

    host: Host
    processes: Processes
    writer: RunningProcess
    path: bytes
    thresholds: Thresholds
    say: Callable[[str], None]
    should_stop: Callable[[], bool]
    sleep: Callable[[float], None] = time.sleep


def watch(task: Watch) -> WatchResult:
    """Watch until the writer ends or somebody stops the watch; whatever happens, the writer is not left stopped."""
    run = _Running(task)
    try:
        while True:
            if not task.processes.is_running(task.writer):
                return run.result(End.WRITER_ENDED)
            if task.should_stop():
                return run.result(End.STOPPED)
            task.sleep(run.look())
    finally:
        run.let_go()


class _Running:
    """What one watch has done so far."""

    def __init__(self, task: Watch) -> None:
        self._task = task
        self._stopped: dict[int, RunningProcess] = {}
        self._pauses = 0
        self._paused_seconds = 0.0
        self._paused_at = 0.0
        self._lowest_bytes: int | None = None
        self._last: tuple[float, int] | None = None

    def look(self) -> float:
        """Look once and act on it; return the seconds to the next look."""
        task = self._task
        usage = task.host.usage(task.path)
        available, at = room_bytes(usage), time.monotonic()
        self._lowest_bytes = available if self._lowest_bytes is None else min(available, self._lowest_bytes)
        step = task.thresholds.step(available, is_paused=bool(self._stopped))
        if step is Step.PAUSE:
            self._pause(available, at, mount=usage.mount)
        elif step is Step.RESUME:
            self._go_on(at)
            task.say(going_on(task.writer.pid, task.writer.command, available))
        elif self._stopped:
            self._stop_family()  # somebody let a part of it go on: as long as we watch, it waits
        rate = 0.0
        if self._last is not None and at > self._last[0]:
            rate = (self._last[1] - available) / (at - self._last[0])
        self._last = (at, available)
        return task.thresholds.wait_seconds(available, bytes_per_second=rate)

    def let_go(self) -> None:
        """Let everything go on that this watch had stopped, before a word is said about it."""
        if self._stopped:
            self._go_on(time.monotonic())
            self._task.say(left_running(self._task.writer.pid, self._task.writer.command))

    def result(self, end: End) -> WatchResult:
        """Return what happened, as of now."""
        waiting = time.monotonic() - self._paused_at if self._stopped else 0.0
        return WatchResult(
            pid=self._task.writer.pid,
            command=self._task.writer.command,
            end=end.value,
            pauses=self._pauses,
            paused_seconds=self._paused_seconds + waiting,
            lowest_available_bytes=self._lowest_bytes,
        )

    def _pause(self, available_bytes: int, at: float, *, mount: bytes) -> None:
        self._stop_family()
        if not self._stopped:
            return
        self._pauses += 1
        self._paused_at = at
        writer, others = self._task.writer, len(self._stopped) - 1
        resume = self._task.thresholds.resume_above_bytes
        self._task.say(paused(writer.pid, writer.command, others, available_bytes, mount, resume_above_bytes=resume))
        self._task.say(go_on_by_hand(tuple(self._stopped)))

    def _stop_family(self) -> None:
        """Stop the writer first, then its descendants, until no new one turns up."""
        handled: set[int] = set()
        for _ in range(_MOST_ROUNDS):
            family = self._task.processes.family(self._task.writer)
            fresh = [each for each in family if each.pid not in handled and not each.is_stopped]
            if not fresh:
                return
            handled.update(each.pid for each in fresh)
            # Noted before it is done: whatever happens in between, letting go what runs does no harm.
            self._stopped.update({each.pid: each for each in fresh})
            stopped = {each.pid for each in self._task.processes.stop(fresh)}
            for each in fresh:
                if each.pid not in stopped:
                    del self._stopped[each.pid]

    def _go_on(self, at: float) -> None:
        self._task.processes.resume(reversed(self._stopped.values()))
        self._stopped.clear()
        self._paused_seconds += at - self._paused_at
