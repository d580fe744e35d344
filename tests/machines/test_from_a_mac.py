"""The operating side runs where nothing of Linux can be imported, as long as the machines it works on are elsewhere."""

import json
from collections.abc import Iterator

import pytest

from artifactctl.domain import identity
from artifactctl.hosts.probe import places
from tests.bench.unimportable import nothing_of_linux
from tests.machines.park import Park

WAIVED = ("--waive", "recoverable", "--reason", "not needed")


@pytest.fixture
def mac(park: Park) -> Iterator[Park]:
    """The laptop is a Mac now: it is never looked at, and nothing that would look at it can be imported."""
    park.platform = "darwin"
    park.laptop.points.calls.clear()
    with nothing_of_linux():
        yield park
    assert park.laptop.points.calls == []


def test_the_commands_work_on_other_machines_without_anything_of_linux(mac: Park) -> None:
    mac.stock(mac.machines["gpu1"], "hs")
    mac.stock(mac.machines["gpu1"], "other")
    mac.must("register", "gpu1:/data/hs", "--kind", "hidden_states")

    mac.must("root", "add", "gpu2:/data", "--name", "two")
    mac.must("scan", "one")
    mac.must("df")
    mac.must("du", "gpu1:/data")
    mac.must("why", "one/hs")
    mac.must("hold", "add", "one/hs", "--reason", "paper")
    mac.must("hold", "release", "one/hs", "--reason", "done")
    mac.must("plan", "extraction", "--tokens", "1M", "--volume", "gpu1:/data")
    mac.must("reclaim", "one/hs", *WAIVED, "--out", str(mac.folder / "plan.json"))
    mac.must("apply", str(mac.folder / "plan.json"), "--reason", "room", "--yes")
    mac.must("quarantine", "ls")
    mac.must("quarantine", "purge", "one/hs", "--reason", "room", "--yes")
    mac.must("report")
    mac.must("metrics")
    mac.must("doctor")

    events = json.loads(mac.must("audit", "ls", "--action", "purge.done", "--json").stdout)["events"]
    assert [event["host"] for event in events] == ["gpu1"]


def test_a_command_that_means_this_machine_says_that_it_cannot_be_managed(mac: Park) -> None:
    refused = mac.run("root", "add", "/data")

    assert refused.exit_code == 2
    assert "artifactctl looks at Linux machines, and this one runs darwin" in refused.stderr


def test_names_that_both_sides_use_are_the_same_without_importing_the_probe() -> None:
    assert identity.MARKER_DIRECTORY == places.PRIVATE
    assert identity.QUARANTINED_CONTENT == places.CONTENT
