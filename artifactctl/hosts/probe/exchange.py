"""One request at the agent: its work in a thread of its own, its hooks, its answer and the trailer behind it."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from artifactctl.hosts.probe.calls import CALLS
from artifactctl.hosts.probe.failures import Fault
from artifactctl.hosts.probe.frames import BATCHES_AHEAD, COUNTED, Kind, Tally, WireFault, decoded, encoded, jsoned
from artifactctl.hosts.probe.outgoing import Gone, Outgoing
from artifactctl.hosts.probe.reports import reported
from artifactctl.hosts.probe.session import Session

_BATCH_BYTES = 128 << 10
_BATCH_SECONDS = 0.1
_PROGRESS_SECONDS = 0.1


class Exchange:
    """What one request asks for; `thread` does it."""

    def __init__(self, number: int, payload: bytes, session: Session, outgoing: Outgoing) -> None:
        self._number = number
        self._asked = _request_in(payload)
        self._session = session
        self._outgoing = outgoing
        self._tally = Tally()
        self._stopped = threading.Event()
        self._credit = threading.Semaphore(BATCHES_AHEAD)
        self._told: Optional[Tuple[Any, ...]] = None
        self._tell_at = 0.0
        self.thread = threading.Thread(target=self._run, daemon=True)

    @property
    def changes(self) -> bool:
        """Whether its outcome has to be waited for before the locks are given up."""
        call = CALLS.get(self._asked["call"])
        return call is not None and call.changes

    def give_credit(self) -> None:
        """Let another batch go out."""
        self._credit.release()

    def stop(self) -> None:
        """Ask it to come to its end."""
        self._stopped.set()
        self._credit.release()

    def _run(self) -> None:
        try:
            try:
                self._answer()
            except Gone:
                raise
            except BaseException as error:  # noqa: BLE001 - it is told to the one who asked
                self._send(Kind.FAILURE, encoded(reported(error)))
            self._send(Kind.TRAILER, self._tally.trailer())
        except Gone:
            return

    def _answer(self) -> None:
        name = self._asked["call"]
        call = CALLS.get(name)
        if call is None:
            raise Fault(f"this agent knows no call {name!r}")
        hooks: Dict[str, Optional[Callable[..., Any]]] = {
            "should_stop": self._should_stop,
            "progress": self._tell if self._asked["wants_progress"] else None,
        }
        result = self._session.run(name, self._asked["arguments"], self._asked["options"], hooks)
        if call.streams:
            self._stream(result)
            return
        self._tell_last()
        self._send(Kind.ANSWER, encoded(result))

    def _stream(self, items: Iterator[Any]) -> None:
        batch: List[bytes] = []
        size, begun = 0, time.monotonic()
        for item in items:
            batch.append(jsoned(item))
            size += len(batch[-1])
            if size >= _BATCH_BYTES or time.monotonic() - begun >= _BATCH_SECONDS:
                if not self._send_batch(batch):
                    return
                batch, size, begun = [], 0, time.monotonic()
        if batch:
            self._send_batch(batch)

    def _send_batch(self, batch: List[bytes]) -> bool:
        """Wait until another batch may go out, and send it; False when nobody wants any more."""
        self._credit.acquire()
        if self._should_stop():
            return False
        self._send(Kind.ITEMS, b"J[" + b",".join(batch) + b"]")
        return True

    def _send(self, kind: Kind, payload: bytes) -> None:
        if kind in COUNTED:
            self._tally.add(payload)
        self._outgoing.send(kind, self._number, payload)

    def _should_stop(self) -> bool:
        return self._stopped.is_set() or self._outgoing.is_over.is_set()

    def _tell(self, *numbers: Any) -> None:
        """Pass progress on, not more often than anybody can look at; the numbers are totals so far."""
        self._told = numbers
        if time.monotonic() >= self._tell_at:
            self._tell_last()

    def _tell_last(self) -> None:
        if self._told is None or self._should_stop():
            return
        numbers, self._told = self._told, None
        self._tell_at = time.monotonic() + _PROGRESS_SECONDS
        try:
            self._outgoing.send(Kind.PROGRESS, self._number, encoded(list(numbers)))
        except Gone:  # the work itself is told by `should_stop`, at a place where it can stop
            return


def _request_in(payload: bytes) -> Dict[str, Any]:
    asked = decoded(payload)
    wanted = {"call": str, "arguments": list, "options": dict, "wants_progress": bool}
    if not isinstance(asked, dict) or any(not isinstance(asked.get(name), kind) for name, kind in wanted.items()):
        raise WireFault("a request does not hold what it should")
    return asked
