"""Asking other machines: in parallel, within a deadline, and only those count that provably see the same."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.domain.attestation import Client
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import ClientLook, Observation
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.clients import ClientHost, Clients, from_table
from tests.inventory.ground import Ground


@pytest.fixture
def seen(ground: Ground) -> Observation:
    """What this machine sees of a folder below the root."""
    old = ground.data / "old"
    old.mkdir()
    (old / "shard").write_bytes(b"x")
    target = ManagedPath(root=ground.root.path, relative=b"old")
    return ground.host.observe(ground.root, target, catalog_id=ground.catalog.lineage_id, catalog_epoch=1)


def ask(ground: Ground, seen: Observation, clients: Clients, *asked: Client) -> tuple[ClientLook, ...]:
    return clients.users_of(asked, ground.root, seen, catalog_id=ground.catalog.lineage_id)


def test_a_machine_that_sees_the_same_tells_who_uses_it(ground: Ground, seen: Observation) -> None:
    clients = Clients(connect=from_table({"gpu2": LocalHost()}))

    (look,) = ask(ground, seen, clients, Client(machine="gpu2"))

    assert look.report is not None
    assert look.report.lease_candidates == 1


def test_a_machine_to_which_no_way_is_known_is_told_with_what_to_type(ground: Ground, seen: Observation) -> None:
    (look,) = ask(ground, seen, Clients(), Client(machine="gpu2"))

    assert look.report is None
    assert look.problem == "no way to the machine gpu2 is known"
    assert look.remedy.startswith("artifactctl host add gpu2")


def test_what_is_at_another_path_gives_no_answer(ground: Ground, seen: Observation, tmp_path: Path) -> None:
    clients = Clients(connect=from_table({"gpu2": LocalHost()}))
    (tmp_path / "empty").mkdir()

    nothing, unmarked = (
        ask(ground, seen, clients, Client(machine="gpu2", path=bytes(tmp_path / name)))[0] for name in ("no", "empty")
    )

    assert nothing.problem.startswith("nothing is at ")
    assert "is not the root `scratch` by its marker" in unmarked.problem
    assert "--sole-clients gpu2:/PATH" in unmarked.remedy


@pytest.mark.parametrize("change", ["another folder in its place", "a file more", "a file that has grown"])
def test_a_machine_that_sees_something_else_gives_no_answer(ground: Ground, seen: Observation, change: str) -> None:
    old = ground.data / "old"
    if change == "another folder in its place":
        old.rename(ground.data / "older")
        old.mkdir()
        (old / "shard").write_bytes(b"x")
    else:
        (old / ("more" if change == "a file more" else "shard")).write_bytes(b"xy")

    (look,) = ask(ground, seen, Clients(connect=from_table({"gpu2": LocalHost()})), Client(machine="gpu2"))

    assert look.report is None
    assert "it sees" in look.problem


def test_the_root_on_another_inode_gives_no_answer(ground: Ground, seen: Observation) -> None:
    ground.root = replace(ground.root, inode=ground.root.inode + 1)

    (look,) = ask(ground, seen, Clients(connect=from_table({"gpu2": LocalHost()})), Client(machine="gpu2"))

    assert "has another inode" in look.problem


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """Set when the test is over, so that whoever waits for it goes on."""
    event = threading.Event()
    yield event
    event.set()


def waiting(end: threading.Event, asked: list[str]) -> ClientHost:
    """A way to machines of which `slow` never answers."""

    def connect(name: str) -> Host:
        asked.append(name)
        if name == "slow":
            end.wait(60)
        return LocalHost()

    return connect


def test_a_silent_machine_holds_up_nobody_and_is_asked_once(
    ground: Ground, seen: Observation, end: threading.Event
) -> None:
    asked: list[str] = []
    clients = Clients(connect=waiting(end, asked), deadline_seconds=3)
    both = (Client(machine="slow"), Client(machine="gpu2"))
    started = time.monotonic()

    slow, quick = ask(ground, seen, clients, *both)
    assert (slow.problem, quick.report is not None) == ("it did not answer within 3 s", True)
    assert ask(ground, seen, clients, *both)[0].problem == slow.problem

    assert sorted(asked) == ["gpu2", "gpu2", "slow"]
    assert time.monotonic() - started < 30


def test_machines_are_asked_at_the_same_time(ground: Ground, seen: Observation) -> None:
    together = threading.Barrier(3)

    def connect(name: str) -> Host:
        together.wait(20)  # nobody gets past before all three are here
        return LocalHost()

    looks = ask(ground, seen, Clients(connect=connect), *(Client(machine=name) for name in "abc"))

    assert [look.machine for look in looks] == ["a", "b", "c"]
    assert all(look.report is not None for look in looks)


def test_a_failure_to_connect_is_a_problem_and_a_bug_is_raised(ground: Ground, seen: Observation) -> None:
    def refused(name: str) -> Host:
        raise HostFailure("no route to host", remedy="look at the network")

    def broken(name: str) -> Host:
        raise ZeroDivisionError

    (look,) = ask(ground, seen, Clients(connect=refused), Client(machine="gpu2"))
    assert (look.problem, look.remedy) == ("no route to host", "look at the network")
    with pytest.raises(ZeroDivisionError):
        ask(ground, seen, Clients(connect=broken), Client(machine="gpu2"))


def test_writers_are_asked_for_by_the_same_rules(ground: Ground, seen: Observation) -> None:
    target = ManagedPath(root=ground.root.path, relative=b"old")
    here = ground.host.contents(ground.root, target)
    clients = Clients(connect=from_table({"gpu2": LocalHost()}))

    def answer() -> ClientLook:
        gpu2 = (Client(machine="gpu2"),)
        return clients.writers_to(gpu2, ground.root, b"old", here, catalog_id=ground.catalog.lineage_id)[0]

    with (ground.data / "old" / "shard").open("ab"):
        held = answer()
    assert held.report is not None
    assert held.report.holders
    (ground.data / "old" / "more").write_bytes(b"")
    assert answer().problem.startswith("it does not see the same at ")
