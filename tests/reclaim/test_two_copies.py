"""Two operators who each remove their own copy at the same time: in every interleaving one verified copy is left (I8).

The operators run in threads of which one goes on at a time, from gate to gate; every order in which they can pass their
gates has its turn among the tried ones.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from artifactctl.catalog import open_catalog
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult
from artifactctl.reclaim import applying
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.workplace import Workplace
from tests.reclaim.ground import DEFAULT, Ground, grounds
from tests.reclaim.second_root import second_copy, second_root

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


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """`dump` twice on one machine, verified, with nothing that it could be built from."""
    for ground in grounds(tmp_path_factory.mktemp("pair")):
        ground.artifact("dump", kind=ArtifactKind.RESPONSE_SET)
        ground.verify("dump")
        second_copy(ground, second_root(ground), "dump")
        yield ground


def orders() -> list[str]:
    """Return every order in which two operators can pass their gates."""
    turns = range(2 * TURNS)
    return ["".join("A" if turn in firsts else "B" for turn in turns) for firsts in combinations(turns, TURNS)]


def removal(ground: Ground, host: Any, name: str) -> Callable[[], OperationResult]:
    """Return the removal of one copy for good, planned before the other operator has begun."""
    catalog = open_catalog(ground.folder / "catalog.db", now=ground.now())
    numbers = iter(range(100))
    work = Workplace(
        catalog=catalog,
        host=host,
        policy=DEFAULT,
        actor=f"{name}@node-1",
        clock=ground.now,
        new_operation=lambda: f"op-{name}-{next(numbers)}",
    )
    root_id = {"A": "root-1", "B": "root-2"}[name]
    artifact = ground.known("dump")
    replica = next(r for r in artifact.replicas if r.root.root_id == root_id)
    plan = prepare(replace(work, host=ground.machine), Wish(chosen=((artifact, replica),), purge_now=True))
    assert [step.name for step in plan.steps] == ["dump"]

    def run() -> OperationResult:
        try:
            return applying.apply_plan(work, plan, reason="the other one is enough")
        finally:
            catalog.close()

    return run


def run_both(ground: Ground, order: str) -> dict[str, OperationResult]:
    baton = Baton(order)
    runs = {name: removal(ground, GatedHost(ground.machine, baton, name), name) for name in "AB"}
    results: dict[str, OperationResult] = {}

    def operate(name: str) -> None:
        try:
            results[name] = runs[name]()
        finally:
            baton.end(name)

    threads = [threading.Thread(target=operate, args=(name,)) for name in "AB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    return results


@pytest.mark.parametrize("order", orders()[::9])
def test_two_operators_who_each_remove_a_copy_leave_one(pair: Ground, tmp_path: Path, order: str) -> None:
    ground = pair.clone(tmp_path / "world")
    try:
        results = run_both(ground, order)

        assert set(results) == {"A", "B"}
        outcomes = [step.outcome for result in results.values() for step in result.steps]
        assert outcomes.count(StepOutcome.PURGED) <= 1
        left = [r for r in ground.known("dump").replicas if r.state is ReplicaState.LIVE]
        assert [r for r in left if r.verified_level is not None and ground.machine.disk.exists(r.root.path + b"/dump")]
    finally:
        ground.close()
