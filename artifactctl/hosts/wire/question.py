"""One question that is under way: what has come for it, and whether that is all of it."""

import queue
from typing import NamedTuple

from artifactctl.hosts.probe.frames import BATCHES_AHEAD, COUNTED, Assembly, Frame, Kind, Tally, WireFault

_MOST_UNREAD_PROGRESS = 100


class Message(NamedTuple):
    """A whole message that came; `kind` None: nothing more will, for the reason in `payload`."""

    kind: Kind | None
    payload: bytes


class Question:
    """Filled by the thread that receives, emptied by the one that asked."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._assembly = Assembly()
        self._tally = Tally()
        self._batches_unread = 0

    def take(self, frame: Frame) -> None:
        """Take the next frame; WireFault when it cannot be one of this answer's."""
        payload = self._assembly.add(frame)
        if payload is None:
            return
        if frame.kind in COUNTED:
            self._tally.add(payload)
        if frame.kind is Kind.ITEMS:
            self._batches_unread += 1
            if self._batches_unread > BATCHES_AHEAD:
                raise WireFault("more came than was asked for")
        if frame.kind is Kind.PROGRESS and self._messages.qsize() > _MOST_UNREAD_PROGRESS:
            return
        if frame.kind is Kind.TRAILER and payload != self._tally.trailer():
            raise WireFault("an answer is not what its trailer says it is")
        self._messages.put(Message(frame.kind, payload))

    def end(self, reason: str) -> None:
        """Let the one who asked know that nothing more will come."""
        self._messages.put(Message(None, reason.encode("utf-8", "backslashreplace")))

    def next(self, seconds: float | None) -> Message | None:
        """Return the next message, None when none comes in time."""
        try:
            return self._messages.get(timeout=seconds)
        except queue.Empty:
            return None

    def batch_read(self) -> None:
        """Note that a batch was taken, before another one is asked for."""
        self._batches_unread -= 1
