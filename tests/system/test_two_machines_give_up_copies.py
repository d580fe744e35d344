"""Two machines that have a copy of each other's, each of which gives its own up at the same time: one is left (I8)."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from artifactctl.configuration.policy_files import shipped_default
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult
from artifactctl.hosts.copies import can_copy
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.fleet import Fleet
from artifactctl.reclaim import applying
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.workplace import Workplace
from tests.archiving.ground import picture, plant
from tests.bench.machines import Fittings, running_machine, ssh_home
from tests.reclaim.turns import Baton, GatedHost
from tests.system.archive_lab import Lab, laboratory, seen

pytestmark = pytest.mark.system

QUICK = replace(shipped_default(), quiet_time=timedelta(0), min_age=timedelta(0))
OWN = {"A": "alpha", "B": "beta"}
ORDERS = ("AAAAABBBBB", "BBBBBAAAAA", "ABABABABAB", "AABBAABBAB", "ABBBAAABAB", "BAAABBBBAA", "ABBAABBABA")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Machines `alpha` and `beta`, which live for all orders."""
    folder = tmp_path_factory.mktemp("lab")
    with ExitStack() as stack:
        machines = {name: stack.enter_context(running_machine(name, Fittings())) for name in OWN.values()}
        yield stack.enter_context(laboratory(folder, ssh_home(folder / "home"), machines))


@pytest.mark.parametrize("order", ORDERS)
def test_of_two_machines_that_remove_their_copies_at_once_one_keeps_it(lab: Lab, order: str) -> None:
    name = f"pair-{order}"
    plant(seen(lab.machines["alpha"], name))
    before = picture(seen(lab.machines["alpha"], name))
    lab.add(name, "alpha", name.encode())
    assert lab.archive("beta", name).is_verified
    baton, results = Baton(order), dict[str, OperationResult]()
    fleets = {who: lab.fleet() for who in OWN}

    def operate(who: str) -> None:
        try:
            results[who] = removal(lab, fleets[who], baton, who, name)
        finally:
            baton.end(who)

    threads = [threading.Thread(target=operate, args=(who,)) for who in OWN]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    for fleet in fleets.values():
        fleet.close()

    assert set(results) == set(OWN)
    outcomes = [step.outcome for result in results.values() for step in result.steps]
    assert outcomes.count(StepOutcome.PURGED) in ((1,) if order in ORDERS[:2] else (0, 1))
    left = [r for r in lab.known(name).replicas if r.state is ReplicaState.LIVE]
    assert left
    for replica in left:
        assert replica.verified_level is not None
        assert picture(seen(lab.machines[replica.root.name], name)) == before
    gone = [r for r in lab.known(name).replicas if r.state is ReplicaState.GONE]
    assert not any(os.path.exists(seen(lab.machines[r.root.name], name)) for r in gone)


def removal(lab: Lab, fleet: Fleet, baton: Baton, who: str, name: str) -> OperationResult:
    """Remove one machine's copy for good, by an operator with connections and a catalog of their own."""
    catalog = lab.open_again()
    hosts = {machine: fleet.reach(lab.machine(machine)) for machine in OWN.values()}
    assert all(can_copy(host) for host in hosts.values())
    own = OWN[who]
    work = Workplace(
        catalog=catalog,
        host=hosts[own],
        elsewhere=lambda reading, root: hosts[root.name],
        policy=QUICK,
        actor=f"{who}@laptop",
        clock=lab.now,
        new_operation=lambda: f"op-{who}-{name}",
    )
    artifact = lab.known(name)
    replica = next(r for r in artifact.replicas if r.root.name == own)
    plan = prepare(work, Wish(chosen=((artifact, replica),), purge_now=True))
    assert [step.name for step in plan.steps] == [name], plan.refused

    def gated(host: Host) -> Host:
        return GatedHost(host, baton, who)

    try:
        in_turns = replace(work, host=gated(hosts[own]), elsewhere=lambda reading, root: gated(hosts[root.name]))
        return applying.apply_plan(in_turns, plan, reason="the other one is enough")
    finally:
        catalog.close()
