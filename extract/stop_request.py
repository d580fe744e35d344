"""Signals that ask a long run to end in good order."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class StopRequest:
    """Whether SIGINT or SIGTERM has arrived; what is in hand is finished first, as `says` tells."""

    def __init__(self, says: str) -> None:
        self._says = says
        self._seen = False

    def __call__(self) -> bool:
        return self._seen

    def note_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Remember the signal, and say so once; what is not finished by then is done again by the next run."""
        if not self._seen:
            with suppress(OSError):  # the terminal may be what went away
                os.write(2, f"{self._says}\n".encode())
        self._seen = True


@contextmanager
def stop_request(says: str) -> Iterator[StopRequest]:
    """Turn SIGINT and SIGTERM into a request that the work polls; the former handlers come back afterwards."""
    request = StopRequest(says)
    former = {number: signal.signal(number, request.note_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
