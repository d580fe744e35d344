"""Two operators who each remove their own copy at the same time, on one machine or each on its own: in every
interleaving one verified copy is left (I8).

The operators run in threads of which one goes on at a time, from gate to gate; every order in which they can pass their
gates has its turn among the tried ones.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from artifactctl.catalog import open_catalog
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState, Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult
from artifactctl.reclaim import applying
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.workplace import Workplace
from tests.fakes.machine import FakeMachine
from tests.reclaim.ground import DEFAULT, Ground, grounds
from tests.reclaim.second_root import second_copy, second_root
from tests.reclaim.turns import Baton, GatedHost, orders


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`dump` in `root-1` on the ground's machine and in `root-2` on `second`, which may be the same machine."""

    ground: Ground
    second: FakeMachine

    def machine(self, name: str) -> FakeMachine:
        """Return the machine of an operator's own copy."""
        return self.ground.machine if name == "A" else self.second

    def machine_of(self, root: Root) -> FakeMachine:
        return self.machine("A" if root.root_id == "root-1" else "B")

    def clone(self, folder: Path) -> "Pair":
        ground = self.ground.clone(folder)
        return Pair(ground=ground, second=ground.machine if self.second is self.ground.machine else self.second.copy())


@pytest.fixture(scope="module", params=["one machine", "two machines"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """`dump` twice, verified, with nothing that it could be built from: on one machine, or on two."""
    for ground in grounds(tmp_path_factory.mktemp("pair")):
        ground.artifact("dump", kind=ArtifactKind.RESPONSE_SET)
        ground.verify("dump")
        second = ground.machine if request.param == "one machine" else _another_machine(ground)
        second_copy(ground, second_root(ground, second), "dump", machine=second)
        yield Pair(ground=ground, second=second)


def _another_machine(ground: Ground) -> FakeMachine:
    machine = FakeMachine()
    machine.identity_of_host = HostIdentity(machine_id="id-2", hostname="node-2", boot_id="boot-1")
    machine.clock.advance(ground.now() - machine.clock.now)
    with ground.catalog.writing("ada", ground.now()) as writing:
        writing.add_host("node-2", machine_id="id-2")
    return machine


def removal(pair: Pair, baton: Baton, name: str) -> Callable[[], OperationResult]:
    """Return the removal of one copy for good, planned before the other operator has begun."""
    ground = pair.ground
    catalog = open_catalog(ground.folder / "catalog.db", now=ground.now())
    numbers = iter(range(100))
    work = Workplace(
        catalog=catalog,
        host=pair.machine(name),
        elsewhere=lambda reading, root: pair.machine_of(root),
        policy=DEFAULT,
        actor=f"{name}@node-1",
        clock=ground.now,
        new_operation=lambda: f"op-{name}-{next(numbers)}",
    )
    root_id = {"A": "root-1", "B": "root-2"}[name]
    artifact = ground.known("dump")
    replica = next(r for r in artifact.replicas if r.root.root_id == root_id)
    plan = prepare(work, Wish(chosen=((artifact, replica),), purge_now=True))
    assert [step.name for step in plan.steps] == ["dump"]
    gated = replace(
        work,
        host=GatedHost(pair.machine(name), baton, name),
        elsewhere=lambda reading, root: GatedHost(pair.machine_of(root), baton, name),
    )

    def run() -> OperationResult:
        try:
            return applying.apply_plan(gated, plan, reason="the other one is enough")
        finally:
            catalog.close()

    return run


def run_both(pair: Pair, order: str) -> dict[str, OperationResult]:
    baton = Baton(order)
    runs = {name: removal(pair, baton, name) for name in "AB"}
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
def test_two_operators_who_each_remove_a_copy_leave_one(pair: Pair, tmp_path: Path, order: str) -> None:
    world = pair.clone(tmp_path / "world")
    try:
        results = run_both(world, order)

        assert set(results) == {"A", "B"}
        outcomes = [step.outcome for result in results.values() for step in result.steps]
        one_after_the_other = order in (orders()[0], orders()[-1])
        assert outcomes.count(StepOutcome.PURGED) in ((1,) if one_after_the_other else (0, 1))
        left = [r for r in world.ground.known("dump").replicas if r.state is ReplicaState.LIVE]
        there = [r for r in left if world.machine_of(r.root).disk.exists(r.root.path + b"/dump")]
        assert [r for r in there if r.verified_level is not None]
    finally:
        world.ground.close()
