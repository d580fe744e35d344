"""Stopping a long command between two steps, never within one."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from artifactctl.domain.errors import ExitCode

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether somebody asked the command to stop. Calling it asks the same as `requested`."""

    def __init__(self) -> None:
        self._signals_seen = 0

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._signals_seen > 0

    def __call__(self) -> bool:
        return self.requested

    def note_signal(self, number: int, frame: FrameType | None) -> None:
        """Remember the signal. A further one changes nothing: the step in hand is still finished or rolled back."""
        self._signals_seen += 1
        words = "stopping after the step in hand" if self._signals_seen == 1 else "still finishing the step in hand"
        # Not print: a handler may run in the middle of another write to the same buffered stream.
        with suppress(OSError):  # the terminal may be what went away; the step in hand must not fail over that
            os.write(2, f"{words}\n".encode())


@contextmanager
def stopping() -> Iterator[StopRequest]:
    """Turn SIGINT and SIGTERM into a request that the work polls; the former handlers come back afterwards."""
    request = StopRequest()
    former = {number: signal.signal(number, request.note_signal) for number in STOPPING_SIGNALS}
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def stopped_exit_code(*, anything_changed: bool) -> ExitCode:
    """Return 5 when a stopped command had done something already, 130 when it had not."""
    return ExitCode.PARTLY_DONE if anything_changed else ExitCode.INTERRUPTED
