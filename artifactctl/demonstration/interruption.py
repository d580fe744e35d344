"""One interruption ends the story, and no second one keeps it from cleaning up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stops_once() -> Iterator[None]:
    """Turn the first of the ending signals into KeyboardInterrupt and ignore those after it.

    The first one is raised wherever the code is; a second one would be raised within the cleaning up.
    """
    seen: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) == 1:
            raise KeyboardInterrupt

    former = {number: signal.signal(number, stop) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
