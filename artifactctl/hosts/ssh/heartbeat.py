"""Notices that a connection died without anybody saying so: a partition, a frozen machine, a laptop that slept.

paramiko's own keepalive asks for no answer. Here each is a question, and one that stays unanswered ends the transport,
which wakes everybody who reads or writes on it.
"""

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paramiko import Transport

_QUESTION = "keepalive@openssh.com"


class Heartbeat:
    """Asks the far side every `interval` whether it is there, and gives up after `patience` without an answer."""

    def __init__(self, transport: "Transport", *, interval: timedelta, patience: timedelta) -> None:
        self._transport = transport
        self._interval = interval.total_seconds()
        self._patience = patience.total_seconds()
        self._over = threading.Event()
        self._answered = threading.Event()
        self._ask_now = threading.Semaphore(0)
        self._one_question = threading.Lock()
        self.lost_after_seconds: float | None = None
        for work in (self._watch, self._ask):
            threading.Thread(target=work, name="artifactctl-ssh-heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Ask no more; the connection is being closed on purpose."""
        self._over.set()
        self._ask_now.release()

    def round_trip_seconds(self) -> float | None:
        """Return how long one question takes, None when the connection has gone."""
        began = time.monotonic()
        return time.monotonic() - began if self._is_answered() else None

    def _watch(self) -> None:
        while not self._over.wait(self._interval) and self._transport.is_active():
            self._answered.clear()
            asked = time.monotonic()
            self._ask_now.release()
            if not self._answered.wait(self._patience) and not self._over.is_set() and self._transport.is_active():
                self.lost_after_seconds = time.monotonic() - asked
                self._transport.close()
        self.stop()

    def _ask(self) -> None:
        while True:
            self._ask_now.acquire()
            if self._over.is_set() or not self._is_answered():
                return
            self._answered.set()

    def _is_answered(self) -> bool:
        """Put one question and wait: the call blocks until the answer, or until the transport has ended."""
        from paramiko import SSHException

        with self._one_question:
            try:
                self._transport.global_request(_QUESTION, wait=True)
            except (OSError, EOFError, SSHException):
                return False
        return self._transport.is_active()
