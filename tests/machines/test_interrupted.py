"""A connection that is lost in the middle: unknown until the machine answers, then found by its id and ended once."""

import json
from typing import Any

import pytest

from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.errors import HostUnreachable
from tests.machines.park import Park

WAIVED = ("--waive", "recoverable", "--reason", "not needed")


@pytest.fixture
def stocked(park: Park) -> Park:
    """`one/hs` is registered on gpu1."""
    park.stock(park.machines["gpu1"], "hs")
    park.must("register", "gpu1:/data/hs", "--kind", "hidden_states")
    return park


def lose(park: Park, after: str) -> None:
    """Lose gpu1 right after it carried out a call, before the answer came: nothing can be asked from then on."""
    gpu1 = park.machines["gpu1"]

    def lost() -> None:
        park.unplugged.add("gpu1")
        for method in ("identity", "observe_quarantined", "put_back", "confirm", "abandon", "operations", "keep",
                       "mirror", "usage", "purge", "begin_purge", "settle", "held_by_deleted", "read_marker",
                       "read_mirror", "identify", "contents", "set_aside"):  # fmt: skip
            for _ in range(20):
                gpu1.points.fail_call(method, HostUnreachable("the connection to gpu1 is lost"))
        raise HostUnreachable("the connection to gpu1 is lost")

    gpu1.points.after_call(after, lost)


def find_again(park: Park) -> None:
    """The machine answers again; whatever held its lock there is gone with the connection."""
    gpu1 = park.machines["gpu1"]
    park.machines["gpu1"] = gpu1.copy()
    park.machines["gpu1"].points = type(gpu1.points)()
    park.machines["gpu1"].locks.free_all()
    park.unplugged.clear()


def findings(park: Park) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(park.run("doctor", "--json").stdout)["findings"]
    return found


@pytest.mark.parametrize("after", ["intend", "set_aside"])
def test_a_lost_quarantine_is_unknown_until_the_machine_answers_and_then_ended_once(stocked: Park, after: str) -> None:
    lose(stocked, after)

    lost = stocked.run("reclaim", "one/hs", *WAIVED, "--yes")
    unknown = [found["what"] for found in findings(stocked)]
    find_again(stocked)
    repaired = stocked.run("doctor", "--repair")

    assert lost.exit_code != 0, lost.output
    assert any("cannot be asked" in what for what in unknown)
    assert repaired.exit_code == 0, repaired.output
    gpu1 = stocked.machines["gpu1"]
    assert len(gpu1.operations(root_of(stocked))) == 1
    assert stocked.state("one/hs") in (ReplicaState.LIVE, ReplicaState.QUARANTINED)
    assert gpu1.disk.exists(b"/data/hs") is (stocked.state("one/hs") is ReplicaState.LIVE)


def test_a_lost_purge_is_named_by_the_doctor_and_completed_once(stocked: Park) -> None:
    stocked.must("reclaim", "one/hs", *WAIVED, "--yes")
    lose(stocked, "begin_purge")

    lost = stocked.run("quarantine", "purge", "one/hs", "--reason", "room", "--yes")
    named = [(found["object"].partition(" ")[0], found["what"]) for found in findings(stocked)]
    find_again(stocked)
    repaired = stocked.run("doctor", "--repair")

    assert lost.exit_code != 0, lost.output
    assert ("operation", "one/hs: whether it was carried out is not known while gpu1 does not answer") in named
    assert repaired.exit_code == 0, repaired.output
    assert stocked.state("one/hs") is ReplicaState.GONE
    assert not stocked.machines["gpu1"].disk.exists(b"/data/hs")


def test_the_next_command_that_acts_there_ends_what_was_lost(stocked: Park) -> None:
    stocked.stock(stocked.machines["gpu1"], "other")
    stocked.must("register", "gpu1:/data/other", "--kind", "hidden_states")
    lose(stocked, "set_aside")
    stocked.run("reclaim", "one/hs", *WAIVED, "--yes")
    find_again(stocked)

    stocked.must("reclaim", "one/other", *WAIVED, "--yes")

    assert stocked.state("one/hs") in (ReplicaState.LIVE, ReplicaState.QUARANTINED)
    assert findings(stocked) == []


def root_of(park: Park) -> Any:
    (replica,) = park.known("one/hs").replicas
    return replica.root
