"""The connection is lost in the middle of a purge: unknown until the machine answers, then found and ended, once."""

import os
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest

from artifactctl.hosts.probe import journal, places
from tests.bench.command_line import Outcome
from tests.bench.machines import Machine
from tests.bench.warm_command_line import WarmCommandLine
from tests.hosts.act_ground import picture
from tests.system.rented import WAIVED, Renting, dump, must, outcome_of, paused_there, registered, ssh_home_of, there

pytestmark = pytest.mark.system

PATIENCE_SECONDS = 6
"""After so long without an answer the other side is gone: ServerAliveInterval x ServerAliveCountMax below."""

FILES = 30
AGENT = "zlib"
"""A word of the agent's own command line."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """`hs` is in quarantine on alpha, and beside it lie another artifact and a file that nobody registered."""

    run: WarmCommandLine
    alpha: Machine
    operation: str
    kept: object

    def in_the_middle(self) -> AbstractContextManager["subprocess.Popen[bytes]"]:
        """Start a purge, as a process of its own, whose agent waits behind the first member as long as the context."""
        words = ("quarantine", "purge", "hs", "--reason", "room", "--yes", "--json")
        return paused_there(self.alpha, "purge:member-removed", self.run, *words)

    def journalled(self) -> list[str]:
        """Return the events of the operation as the root's journal has them."""
        written = there(self.alpha, os.fsdecode(places.PRIVATE), os.fsdecode(places.JOURNAL)).read_bytes()
        return [found["event"] for found in journal.parse(written).records if found.get("operation") == self.operation]

    def left(self) -> list[str]:
        """Return the members that are still there."""
        folders = there(self.alpha, ".artifactctl", "quarantine").glob(f"*{self.operation}*.purging/content")
        return [name for folder in folders for name in os.listdir(folder)]

    def findings(self) -> list[str]:
        """Return what doctor finds."""
        return [f"{each['object']}: {each['what']}" for each in self.run("doctor", "--json").json()["findings"]]


@pytest.fixture
def stage(gpu: Renting, warm_cli: WarmCommandLine) -> Stage:
    ssh_home_of(warm_cli).configure("ConnectTimeout 2\nServerAliveInterval 2\nServerAliveCountMax 3\n")
    alpha = gpu("alpha")
    registered(warm_cli, alpha, "hs", files=FILES)
    registered(warm_cli, alpha, "kept")
    dump(alpha, "stray")
    (step,) = must(warm_cli, "reclaim", "hs", *WAIVED, "--yes", "--json").json()["steps"]
    return Stage(run=warm_cli, alpha=alpha, operation=step["operation"], kept=others(alpha))


def others(machine: Machine) -> object:
    return [picture(there(machine, name)) for name in ("kept", "stray")]


def until(condition, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


FAULTS = {
    "the link is down": (Machine.unplug, Machine.plug_in),
    "packets are dropped": (Machine.cut, Machine.mend),
    "only what comes in is dropped there": (Machine.deafen, Machine.mend),
}


@pytest.mark.parametrize(("fault", "cure"), FAULTS.values(), ids=FAULTS)
def test_a_purge_that_a_partition_cuts_in_two_is_unknown_and_then_ended_by_its_id_once(stage, fault, cure):
    with stage.in_the_middle() as purging:
        fault(stage.alpha)
        lost = outcome_of(purging, within_seconds=2 * PATIENCE_SECONDS + 10)
        while_cut_off = stage.findings()
        listed = stage.run("ls", "--json").json()["artifacts"]
        time.sleep(PATIENCE_SECONDS)  # the agent, which hears nothing either, gives up before it goes on
    cure(stage.alpha)
    until(lambda: not stage.alpha.running(AGENT))
    left, journalled = stage.left(), stage.journalled()
    recovered = must(stage.run, "doctor", "--repair", "--json")
    again = must(stage.run, "doctor", "--repair", "--json")

    assert lost.code == 5, lost
    assert "hs: " in lost.stderr
    assert "whether it was done is not known" in lost.stderr
    assert "`artifactctl doctor`" in lost.stderr
    assert any("whether it was carried out is not known" in found for found in while_cut_off), while_cut_off
    assert {each["name"]: each["state"] for each in listed}["hs"] == "purging"
    assert 0 < len(left) < FILES, "the agent that was left alone went on"
    assert journalled.count("purge_intended") == 1
    assert "purged" not in journalled
    check_ended_once(stage, recovered, again)


def check_ended_once(stage: Stage, recovered: Outcome, again: Outcome) -> None:
    assert len(recovered.json()["repaired"]) == 1
    assert (again.json()["repaired"], again.json()["findings"]) == ([], [])
    journalled = stage.journalled()
    assert [journalled.count(event) for event in ("purge_intended", "purging", "purged")] == [1, 1, 1]
    assert others(stage.alpha) == stage.kept
    assert stage.left() == []
    events = must(stage.run, "audit", "ls", "--artifact", "hs", "--json").json()["events"]
    told = [(event["action"], event["host"]) for event in events if event["operation"] == stage.operation]
    assert told.count(("purge.begin", "alpha")) == 1
    assert [each for each in told if each[0] in ("purge.done", "recover.purge")][-1][1] == "alpha"
    must(stage.run, "audit", "verify")


def test_a_purge_that_the_cut_off_machine_completes_alone_is_found_done_and_not_issued_again(stage):
    with stage.in_the_middle() as purging:
        stage.alpha.unplug()
    until(lambda: "purged" in stage.journalled())
    lost = outcome_of(purging, within_seconds=2 * PATIENCE_SECONDS + 10)
    stage.alpha.plug_in()
    until(lambda: not stage.alpha.running(AGENT))
    before = must(stage.run, "ls", "--json").json()["artifacts"]
    recovered = must(stage.run, "doctor", "--repair", "--json")
    again = must(stage.run, "doctor", "--repair", "--json")

    assert lost.code == 5, lost
    assert {each["name"]: each["state"] for each in before}["hs"] == "purging"
    check_ended_once(stage, recovered, again)


def test_a_client_that_is_killed_in_the_middle_of_a_purge_leaves_it_to_the_next_command_there(stage):
    with stage.in_the_middle() as purging:
        purging.send_signal(signal.SIGKILL)
        purging.communicate(timeout=30)
        busy = stage.run("quarantine", "purge", "hs", "--reason", "once more", "--yes")
    until(lambda: not stage.alpha.running(AGENT))
    left = stage.left()
    recovered = must(stage.run, "doctor", "--repair", "--json")
    again = must(stage.run, "doctor", "--repair", "--json")

    assert purging.returncode == -signal.SIGKILL
    assert busy.code == 6, busy
    assert f"it ends by itself {PATIENCE_SECONDS} seconds after that" in busy.stderr
    assert 0 < len(left) < FILES
    check_ended_once(stage, recovered, again)
