"""What the agent says: whole frames, from any thread, and never waiting for somebody who is gone."""

from __future__ import annotations

import os
import select
import threading

from artifactctl.hosts.probe.frames import Kind, packed

_LOOK_UP_SECONDS = 0.5


class Gone(Exception):
    """Nobody listens any more."""


class Outgoing:
    """Writes to a descriptor, which it makes non-blocking."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._one_frame = threading.Lock()
        self.is_over = threading.Event()

    def send(self, kind: Kind, request: int, payload: bytes = b"") -> None:
        """Send one message; other messages may come between its frames. Gone when it cannot be told any more."""
        for frame in packed(kind, request, payload):
            with self._one_frame:
                self._write(memoryview(frame))

    def _write(self, rest: memoryview) -> None:
        while rest:
            if self.is_over.is_set():
                raise Gone
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], _LOOK_UP_SECONDS)
            except OSError as error:
                self.is_over.set()
                raise Gone from error
