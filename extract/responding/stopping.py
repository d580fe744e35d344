"""Why a run ends before every prompt was asked, and how those who wait hear of it."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class StopReason(StrEnum):
    """What stopped a run."""

    SIGNAL = "signal"
    BUDGET = "budget"
    BARRED = "barred"
    SERVER = "server"
    SPACE = "space"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One stop: `message` says what happened, `remedy` what to do."""

    reason: StopReason
    message: str
    remedy: str


class Stopping:
    """Remembers the first reason to stop; whoever sleeps wakes up.

    `signalled` is set by a first signal (what is in flight should end soon), `at_once` by a second.
    """

    def __init__(self) -> None:
        self.stop: Stop | None = None
        self.signalled = asyncio.Event()
        self.at_once = asyncio.Event()
        self._asked = asyncio.Event()

    @property
    def requested(self) -> bool:
        """Whether no new request may begin."""
        return self.stop is not None

    def request(self, stop: Stop) -> None:
        """Begin no new request; the first reason is kept."""
        self.stop = self.stop or stop
        self._asked.set()

    async def sleep(self, duration: timedelta) -> None:
        """Sleep so long, or until a stop is requested."""
        try:
            await asyncio.wait_for(self._asked.wait(), timeout=duration.total_seconds())
        except TimeoutError:
            return

    def note_signal(self) -> None:
        """Take a signal: the first lets requests in flight end, the second does not."""
        if self.signalled.is_set():
            self.at_once.set()
        self.signalled.set()
        self.request(
            Stop(reason=StopReason.SIGNAL, message="stopped by a signal", remedy="the same command goes on from here")
        )


@contextmanager
def signals_noted(stopping: Stopping) -> Iterator[None]:
    """Have SIGINT and SIGTERM noted while the loop of this thread runs; the former handlers come back afterwards."""
    loop = asyncio.get_running_loop()
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in former:
        loop.add_signal_handler(number, stopping.note_signal)
    try:
        yield
    finally:
        for number, handler in former.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
