"""A volume that two machines mount: what the other one has open is invisible here, so it is asked, or nothing goes."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from artifactctl.domain.artifacts import Root
from artifactctl.domain.observation import Observation
from artifactctl.domain.uptime import Uptime
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.clients import from_table
from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.clocks import NOON, FixedClock
from tests.bench.other_machine import OtherMachine, other_machine
from tests.bench.shared_volume import mounted_by_fuse
from tests.bench.site import QUICK_POLICY, picture
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

HERE = os.uname().nodename
NAME = "vol/old"
A_DAY = timedelta(days=1, minutes=1)
SAID = ("--reason", "test", "--waive", "recoverable")


class HostAtThatTime(LocalHost):
    """This machine with the clock of a test: a purge waits until the machine's own clock has passed the time, too.

    It has been up since noon of that day.
    """

    def __init__(self, clock: FixedClock, *, up_less: timedelta) -> None:
        super().__init__()
        self._clock = clock
        self._up_less = up_less

    def observe_quarantined(self, root: Root, operation: str) -> Observation:
        return replace(super().observe_quarantined(root, operation), host_time=self._clock.now())

    def uptime(self) -> Uptime:
        return replace(super().uptime(), since_boot=self._clock.now() - NOON - self._up_less)


@dataclass
class Lab:
    """Two machines with one volume: this one sees it at `here`, the other one at `there`."""

    folder: Path
    here: Path
    there: Path
    other: OtherMachine
    clock: FixedClock = field(default_factory=FixedClock)
    machine_clock: FixedClock | None = None
    up_less: timedelta = timedelta(0)
    reach: Callable[[str], Host] | None = None
    patience_seconds: float | None = None

    def run(self, *words: str | Path) -> Result:
        surroundings = Surroundings(
            clock=self.clock,
            make_host=lambda _: HostAtThatTime(self.machine_clock or self.clock, up_less=self.up_less),
            other_host=self.reach,
            other_host_seconds=self.patience_seconds,
            environment={"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config")},
            working_directory=self.folder,
        )
        return CliRunner().invoke(program, [str(word) for word in words], obj=surroundings)

    def done(self, *words: str | Path) -> Any:
        result = self.run(*words, "--json")
        assert result.exit_code == 0, f"{words}: {result.exit_code}\n{result.output}\n{result.stderr}"
        return json.loads(result.stdout)

    def stated(self, *words: str) -> None:
        self.done("root", "attest", "vol", *words)

    def sole_clients(self) -> None:
        self.stated("--sole-clients", f"{HERE},{self.other.name}:{self.there / 'data'}")

    def planned(self, *words: str) -> dict[str, Any]:
        """What `not_held` says to a plan for the one artifact."""
        result = self.run("reclaim", NAME, "--dry-run", "--json", *SAID, *words)
        plan = json.loads(result.stdout)
        (item,) = [*plan["steps"], *plan["refused"]]
        found = evidence_of(item)
        assert (result.exit_code == 0) is (found["verdict"] == "attested"), plan
        return found

    def set_aside(self) -> dict[str, Any]:
        (step,) = self.done("reclaim", NAME, "--yes", *SAID)["steps"]
        return dict(step)

    def purge(self) -> dict[str, Any]:
        (step,) = json.loads(self.run("quarantine", "purge", NAME, "--yes", "--json").stdout)["steps"]
        return dict(step)


def evidence_of(item: Mapping[str, Any]) -> dict[str, Any]:
    return next(each for each in item["evidence"] if each["guard"] == "not_held")


@pytest.fixture
def lab(ext4_volume: Volume, tmp_path: Path) -> Iterator[Lab]:
    """A registered folder on the volume, of which nobody has said who mounts it."""
    place = Path(tempfile.mkdtemp(prefix="shared-", dir="/run"))
    (ext4_volume.mount / "data").mkdir()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        other = stack.enter_context(other_machine("gpu2"))
        other.mount(ext4_volume.mount, place / "there")
        here = stack.enter_context(mounted_by_fuse(ext4_volume.mount, place / "here"))
        settings = tmp_path / "config" / "artifactctl"
        settings.mkdir(parents=True)
        (settings / "artifactctl.toml").write_text(QUICK_POLICY, encoding="utf-8")
        lab = Lab(folder=tmp_path, here=here, there=place / "there", other=other)
        lab.reach = from_table({"gpu2": other.host})
        lab.done("init")
        lab.done("root", "add", here / "data", "--name", "vol")
        old = here / "data" / "old"
        old.mkdir()
        for name in ("shard-0", "shard-1"):
            (old / name).write_bytes(os.urandom(100_000))
        lab.done("register", old, "--kind", "other", "--name", NAME)
        lab.clock.advance(timedelta(days=400))  # later than the files, which have the real time
        yield lab


def test_before_somebody_said_who_mounts_it_everything_works_that_only_reads_and_nothing_is_written(lab: Lab) -> None:
    before = picture(lab.here)

    for words in (
        ("root", "add", lab.here / "data"),
        ("scan", "vol"),
        ("verify", NAME, "--level", "digests"),
        ("du",),
        ("df",),
        ("plan", "extraction", "--tokens", "1000", "--volume", "vol"),
        ("rescue", lab.here),
        ("hold", "add", NAME, "--reason", "for the paper"),
        ("why", NAME),
        ("quarantine", "ls"),
    ):
        lab.done(*words)
    assert lab.run("doctor").exit_code in (0, 3)
    assert lab.run("doctor", "--repair", "--yes").exit_code in (0, 3)
    assert lab.run("reclaim", NAME, "--yes", *SAID).exit_code == 4

    assert picture(lab.here) == before
    assert not (lab.here / "data" / ".artifactctl").exists()
    found = lab.planned()
    assert found["verdict"] == "unknown"
    assert "root attest vol --sole-clients" in found["remedy"]
    (root,) = lab.done("root", "ls")["roots"]
    assert root["attestation"] == "read-only"


def test_a_hold_from_before_stands_in_the_root_once_it_is_attested(lab: Lab) -> None:
    lab.done("hold", "add", NAME, "--reason", "for the paper")
    lab.stated("--lease")

    told = LocalHost().read_mirror(bytes(lab.here / "data"), "holds")
    assert told is not None
    assert b"for the paper" in told
    assert (lab.here / "data" / ".artifactctl" / "root.json").exists()


def test_it_is_attested_when_every_machine_answered_and_is_clear(lab: Lab) -> None:
    lab.sole_clients()

    found = lab.planned()

    assert found["verdict"] == "attested"
    assert ["asked", "gpu2"] in found["facts"]


@pytest.mark.parametrize("way", ["descriptor", "mapping", "working_directory"])
def test_a_process_on_the_other_machine_blocks_and_is_named(lab: Lab, way: str) -> None:
    lab.sole_clients()
    held = lab.there / "data" / "old" / ("" if way == "working_directory" else "shard-1")

    with lab.other.holding(way, held) as process:
        found = lab.planned()

    assert found["verdict"] == "blocked"
    assert found["reason"].startswith(f"on gpu2: process {process} (")
    assert lab.planned()["verdict"] == "attested"


def test_what_the_other_machine_has_open_cannot_be_seen_from_here(lab: Lab) -> None:
    lab.stated("--sole-clients", HERE)

    with lab.other.holding("descriptor", lab.there / "data" / "old" / "shard-1"):
        assert lab.planned()["verdict"] == "attested"  # by a statement that is not true


def test_a_machine_that_cannot_be_reached_is_named_and_nothing_goes(lab: Lab) -> None:
    lab.stated("--sole-clients", f"{HERE},gpu2:{lab.there / 'data'},gpu3")
    found = lab.planned()
    assert found["verdict"] == "unknown"
    assert found["facts"] == [["not_asked", "gpu3"]]

    lab.other.crash()
    found = lab.planned()
    assert found["facts"] == [["not_asked", "gpu2"], ["not_asked", "gpu3"]]


def test_a_machine_that_sees_a_copy_there_gives_no_answer(lab: Lab) -> None:
    copy = lab.there / "copy"
    lab.stated("--sole-clients", f"{HERE},gpu2:{copy}")
    shutil.copytree(lab.here / "data", lab.here / "copy")  # with its marker

    found = lab.planned()

    assert found["verdict"] == "unknown"
    assert "has another inode than the root `vol`" in found["reason"]


def test_it_is_set_aside_and_purged_when_all_are_clear_a_day_later(lab: Lab) -> None:
    lab.sole_clients()
    assert lab.planned("--purge-now")["facts"] == [["purge", "at once"]]

    assert lab.set_aside()["outcome"] == "quarantined"
    early = lab.purge()
    assert early["outcome"] == "refused"
    assert evidence_of(early)["facts"] == [["purge", "too early"]]

    lab.machine_clock = FixedClock(lab.clock.now())
    lab.clock.advance(A_DAY)
    assert evidence_of(lab.purge())["facts"] == [["purge", "too early"]]  # a day by the clock of who asks alone
    lab.machine_clock = None
    quarantined = next((lab.here / "data" / ".artifactctl" / "quarantine").glob("*/content*"))
    there = lab.there / quarantined.relative_to(lab.here)
    with lab.other.holding("descriptor", there / "shard-0"):  # a job that came back during the grace
        busy = lab.purge()
    assert busy["outcome"] == "refused"
    assert evidence_of(busy)["reason"].startswith("on gpu2: ")

    assert lab.purge()["outcome"] == "purged"
    assert not list((lab.here / "data" / ".artifactctl" / "quarantine").glob("*/content*"))


def test_clocks_that_were_set_ahead_end_no_wait(lab: Lab) -> None:
    lab.sole_clients()
    lab.set_aside()
    lab.clock.advance(timedelta(minutes=30))
    lab.up_less = A_DAY
    lab.clock.advance(A_DAY)  # both clocks say a day; the machine was up for half an hour of it

    early = evidence_of(lab.purge())

    assert (early["verdict"], early["facts"]) == ("unknown", [["purge", "too early by the machine's uptime"]])
    assert "does not prove the last 23 h 30 min" in early["reason"]
    lab.up_less = timedelta(0)
    assert lab.purge()["outcome"] == "purged"


def test_a_statement_made_by_a_clock_that_was_behind_is_waited_for_all_the_same(lab: Lab) -> None:
    lab.sole_clients()
    lab.set_aside()
    lab.clock.advance(A_DAY)
    lab.stated("--lease")
    lab.up_less = A_DAY
    lab.clock.advance(A_DAY)

    assert evidence_of(lab.purge())["facts"] == [["purge", "too early by the machine's uptime"]]


def test_a_machine_that_disappears_during_the_grace_keeps_it_in_quarantine(lab: Lab) -> None:
    lab.sole_clients()
    lab.set_aside()
    lab.clock.advance(A_DAY)
    lab.other.crash()

    refused = lab.purge()
    assert refused["outcome"] == "refused"
    assert evidence_of(refused)["facts"] == [["not_asked", "gpu2"]]

    lab.stated("--sole-clients", HERE)  # it is gone for good: who says so waits another day
    assert evidence_of(lab.purge())["facts"] == [["purge", "too early"]]
    lab.clock.advance(A_DAY)
    assert lab.purge()["outcome"] == "purged"


def test_a_machine_that_answers_no_more_is_waited_for_once(lab: Lab) -> None:
    lab.sole_clients()
    lab.patience_seconds = 1.0
    lab.other.freeze()
    started = time.monotonic()

    found = lab.planned()

    assert found["reason"] == "not known who uses it on gpu2 (it did not answer within 1 s)"
    assert time.monotonic() - started < 20


def test_a_saved_plan_holds_only_under_the_statement_that_it_was_made_with(lab: Lab) -> None:
    lab.stated("--lease")
    lab.run("reclaim", NAME, "--out", lab.folder / "plan.json", *SAID)
    lab.sole_clients()

    result = lab.run("apply", lab.folder / "plan.json", "--yes", "--reason", "test", "--json")

    (step,) = json.loads(result.stdout)["steps"]
    assert (result.exit_code, step["outcome"]) == (4, "refused")
    assert "what was stated about who mounts its volume changed" in step["evidence"][0]["reason"]


def test_a_successor_counts_as_proof_only_when_nobody_writes_to_it_on_the_other_machine(lab: Lab) -> None:
    new = safetensors_shards(lab.here / "data" / "new", rows=(30, 40))
    safetensors_shards(lab.here / "data" / "older", rows=(30,))
    lab.done("scan", "vol")
    lab.done("supersede", "vol/older", "--by", "vol/new")
    lab.sole_clients()
    there = lab.there / new.relative_to(lab.here) / sorted(os.listdir(new))[-1]

    with lab.other.holding("writable_descriptor", there):
        result = lab.run("verify", "vol/new", "--json")
        assert result.exit_code == 3
        assert "on gpu2: process" in result.stdout
    lab.done("verify", "vol/new")
    with lab.other.holding("writable_descriptor", there):
        assert lab.run("reclaim", "vol/older", "--dry-run", "--json").exit_code == 4
    (step,) = lab.done("reclaim", "vol/older", "--dry-run")["steps"]
    assert evidence_of(step)["verdict"] == "attested"


def test_nothing_is_archived_while_somebody_writes_to_it_on_the_other_machine_or_could(lab: Lab) -> None:
    store = lab.folder / "store"
    store.mkdir()
    lab.done("root", "add", store, "--name", "store")
    lab.sole_clients()

    with lab.other.holding("writable_descriptor", lab.there / "data" / "old" / "shard-1"):
        writing = lab.run("archive", NAME, "--to", "store")
    lab.other.crash()
    silent = lab.run("archive", NAME, "--to", "store")

    assert (writing.exit_code, silent.exit_code) == (4, 4)
    assert "may be changing: on gpu2: process" in writing.stderr
    assert "cannot tell whether somebody on gpu2 is writing to it" in silent.stderr
    assert not (store / "old").exists()
    lab.stated("--sole-clients", HERE)
    lab.done("archive", NAME, "--to", "store")
    assert (store / "old" / "shard-1").exists()


def test_what_was_stated_can_be_taken_back_and_then_only_a_restore_is_left(lab: Lab) -> None:
    lab.stated("--lease")
    assert lab.planned()["verdict"] == "attested"
    lab.set_aside()
    lab.stated("--withdraw")
    lab.clock.advance(2 * A_DAY)

    assert evidence_of(lab.purge())["verdict"] == "unknown"
    (step,) = lab.done("quarantine", "restore", NAME)["steps"]
    assert step["outcome"] == "restored"
    told = [event["action"] for event in lab.done("audit", "ls", "--action", "root")["events"]]
    assert told == ["root.add", "root.attest", "root.withdraw"]


def test_a_list_that_leaves_this_machine_out_is_refused(lab: Lab) -> None:
    result = lab.run("root", "attest", "vol", "--sole-clients", "gpu2")

    assert result.exit_code == 2
    assert f"--sole-clients {HERE},gpu2" in result.stderr
