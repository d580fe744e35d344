"""Two operators of whom one goes on at a time, from gate to gate, in an order that the test says."""

import threading
from itertools import combinations
from typing import Any

GATES = ("contents", "set_aside", "begin_purge", "purge")
"""Looking at the other copy (before it is set aside, and before it is purged), and the acts themselves."""
TURNS = 5
"""How many gates one removal passes."""


class Baton:
    """Lets one of two operators go on at a time, in the given order of turns; one that has ended has no more turns."""

    def __init__(self, order: str) -> None:
        self._order = list(order)
        self._changed = threading.Condition()
        self._ended: set[str] = set()

    def wait_for_turn(self, name: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._next() in (name, ""), timeout=60)
            if self._order:
                self._order.pop(0)

    def passed(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def end(self, name: str) -> None:
        with self._changed:
            self._ended.add(name)
            self._changed.notify_all()

    def _next(self) -> str:
        while self._order and self._order[0] in self._ended:
            self._order.pop(0)
        return self._order[0] if self._order else ""


class GatedHost:
    """The machine as one operator uses it: at each gate it waits for its turn."""

    def __init__(self, host: Any, baton: Baton, name: str) -> None:
        self._host, self._baton, self._name = host, baton, name

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._host, name)
        if name not in GATES:
            return call

        def gated(*arguments: Any, **options: Any) -> Any:
            self._baton.wait_for_turn(self._name)
            try:
                return call(*arguments, **options)
            finally:
                self._baton.passed()

        return gated


def orders() -> list[str]:
    """Return every order in which two operators can pass their gates."""
    turns = range(2 * TURNS)
    return ["".join("A" if turn in firsts else "B" for turn in turns) for firsts in combinations(turns, TURNS)]
