"""The operating side runs where nothing of Linux can be imported, as long as the machines it works on are elsewhere."""

import json
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from artifactctl.domain import identity
from artifactctl.hosts.probe import places
from tests.machines.park import Park

LINUX_ONLY = ("artifactctl.hosts.probe", "artifactctl.hosts.local", "artifactctl.hosts.local_processes")
WAIVED = ("--waive", "recoverable", "--reason", "not needed")


class Unimportable:
    """Refuses what a Mac could not import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise for every module that looks at a Linux machine from inside."""
        if any(name == module or name.startswith(f"{module}.") for module in LINUX_ONLY):
            raise ImportError(f"{name} cannot be imported here")
        return None


@pytest.fixture
def mac(park: Park) -> Iterator[Park]:
    """The laptop is a Mac now: it is never looked at, and nothing that would look at it can be imported."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith(LINUX_ONLY)}
    for name in kept:
        del sys.modules[name]
    blocking = Unimportable()
    sys.meta_path.insert(0, blocking)
    park.platform = "darwin"
    park.laptop.points.calls.clear()
    yield park
    sys.meta_path.remove(blocking)
    sys.modules.update(kept)
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
