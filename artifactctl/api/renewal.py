"""Renewing what a program holds in the background, until it ends or is lost."""

import threading
from collections.abc import Callable
from datetime import timedelta

from artifactctl.domain.errors import ArtifactctlError, Refused, UsageError

RETRY_AFTER = timedelta(seconds=20)
"""When to try again after a renewal that failed, such as on a busy catalog."""


class Renewal:
    """Calls `renew` every so often in a thread of its own while it returns true; `lost` is why it had to stop."""

    def __init__(self, renew: Callable[[], bool], *, every: timedelta, name: str) -> None:
        self._renew = renew
        self._every = every
        self.lost: ArtifactctlError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first renewal comes after one interval."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for a renewal that is under way."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._ended.wait(pause.total_seconds()):
            try:
                if not self._renew():
                    return
            except (Refused, UsageError) as lost:  # over, broken, or unknown to a catalog restored meanwhile
                self.lost = lost
                return
            except ArtifactctlError:  # busy, or no space: the term is three renewals long
                pause = min(RETRY_AFTER, self._every)
            else:
                pause = self._every
