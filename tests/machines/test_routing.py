"""Which machine a command means, and what it does when that one does not answer."""

import json
import threading
from datetime import timedelta
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


def answer(park: Park, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(park.run(*words, "--json").stdout)
    return found


def test_a_root_is_added_on_another_machine_with_host_path_or_with_host(park: Park) -> None:
    park.machines["gpu2"].do.mkdir(b"/scratch")

    added = park.must("root", "add", "/scratch", "--host", "gpu2", "--name", "two")
    listed = answer(park, "root", "ls")

    assert added.stdout == "gpu2:/scratch is managed as `two` (ext4)\n"
    assert {root["name"]: (root["host"], root["path"]) for root in listed["roots"]} == {
        "one": ("gpu1", "/data"),
        "two": ("gpu2", "/scratch"),
    }


def test_the_home_directories_of_the_other_machine_cannot_be_roots(park: Park) -> None:
    park.machines["gpu2"].do.mkdir(b"/srv")
    park.machines["gpu2"].do.mkdir(b"/srv/ada")

    refused = park.run("root", "add", "gpu2:/srv/ada")

    assert refused.exit_code == 2
    assert "is a home directory itself" in refused.stderr


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("gpu3:/data", "did you mean `gpu2`?; a path of this machine with a colon in it is written `./gpu3:/data`"),
        ("gpu1:data", "`gpu1:data` is no absolute path on gpu1"),
        ("gpu1:", "`gpu1:` is no absolute path on gpu1"),
        ("gpu1:/data/../etc", "give the path without `..`"),
    ],
    ids=["no such machine", "relative", "nothing behind the colon", "going up"],
)
def test_a_word_with_a_colon_that_means_no_place_says_so(park: Park, word: str, said: str) -> None:
    refused = park.run("root", "add", word)

    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_path_without_a_machine_is_one_of_this_machine(stocked: Park) -> None:
    refused = stocked.run("show", "/data/hs")

    assert refused.exit_code == 2
    assert "no artifact is catalogued at /data/hs" in refused.stderr
    assert "`gpu1:/data/hs` is another machine's: name it like that" in refused.stderr
    assert answer(stocked, "show", "gpu1:/data/hs")["name"] == "one/hs"


def test_an_artifact_is_looked_at_removed_and_put_back_where_it_lies(stocked: Park) -> None:
    gpu1 = stocked.machines["gpu1"]

    gone = stocked.run("reclaim", "one/hs", *WAIVED, "--yes")
    away = not gpu1.disk.exists(b"/data/hs")
    listed = answer(stocked, "quarantine", "ls")
    stocked.must("quarantine", "restore", "gpu1:/data/hs")

    assert gone.exit_code == 0, gone.output
    assert away
    assert [(entry["name"], entry["host"]) for entry in listed["quarantined"]] == [("one/hs", "gpu1")]
    assert gpu1.disk.exists(b"/data/hs")
    assert stocked.state("one/hs") is ReplicaState.LIVE


def test_the_audit_tells_where_it_happened_and_where_it_was_asked_for(stocked: Park) -> None:
    stocked.must("reclaim", "one/hs", *WAIVED, "--yes")

    events = answer(stocked, "audit", "ls", "--action", "quarantine.begin")["events"]

    assert [event["host"] for event in events] == ["gpu1"]
    assert [event["actor"].rpartition("@")[2] for event in events] == ["laptop"]


def test_a_person_with_roots_on_one_other_machine_only_means_that_one(park: Park) -> None:
    park.stock(park.machines["gpu1"], "hs")

    scanned = answer(park, "scan")

    assert scanned["uncatalogued_files"] == 2
    assert park.connected == ["gpu1"]


def test_with_roots_on_this_machine_a_scan_without_names_means_this_one(park: Park) -> None:
    park.must("root", "add", "/data", "--name", "own")

    park.must("scan")

    assert park.connected == []


def test_with_roots_on_several_other_machines_a_scan_without_names_asks_which(park: Park) -> None:
    park.must("root", "add", "gpu2:/data", "--name", "two")

    refused = park.run("scan")
    chosen = park.run("scan", "--host", "gpu2")

    assert refused.exit_code == 2
    assert "several others have some: gpu1, gpu2" in refused.stderr
    assert chosen.exit_code == 0
    assert park.connected == ["gpu2"]


def test_two_slow_machines_are_scanned_at_the_same_time(park: Park) -> None:
    park.must("root", "add", "gpu2:/data", "--name", "two")
    both_have_begun = threading.Barrier(2, timeout=60)
    for name, machine in park.machines.items():
        park.stock(machine, f"hs-{name}")
        machine.points.before_call("walk", lambda: both_have_begun.wait() and None)

    scanned = answer(park, "scan", "one", "two")

    assert not both_have_begun.broken, "one waited for the other to be done"
    assert scanned["uncatalogued_files"] == 4
    assert scanned["unreachable"] == []


def test_two_slow_machines_are_verified_at_the_same_time(park: Park) -> None:
    park.must("root", "add", "gpu2:/data", "--name", "two")
    for name, machine in park.machines.items():
        park.stock(machine, "hs")
        park.must("register", f"{name}:/data/hs", "--kind", "other")
    both_have_begun = threading.Barrier(2, timeout=60)
    for machine in park.machines.values():
        machine.points.before_call("contents", lambda: both_have_begun.wait() and None)

    verified = answer(park, "verify", "--all", "--level", "members")

    assert not both_have_begun.broken, "one waited for the other to be done"
    assert [found["name"] for found in verified["results"]] == ["one/hs", "two/hs"]


def test_a_machine_that_is_lost_during_a_scan_of_several_keeps_nobody_else_from_being_scanned(park: Park) -> None:
    park.must("root", "add", "gpu2:/data", "--name", "two")
    park.machines["gpu1"].points.fail_call("walk", HostUnreachable("the connection to gpu1 is lost"))
    park.stock(park.machines["gpu2"], "hs")

    result = park.run("scan", "one", "two", "--json")

    assert result.exit_code == 5
    assert json.loads(result.stdout)["uncatalogued_files"] == 2
    assert "gpu1 is left out: the connection to gpu1 is lost" in result.stderr


@pytest.mark.parametrize("command", ["df", "du", "report", "metrics"])
def test_a_machine_that_does_not_answer_is_named_and_makes_the_answer_incomplete(park: Park, command: str) -> None:
    park.must("root", "add", "gpu2:/data", "--name", "two")
    park.unplugged.add("gpu2")

    result = park.run(command)

    assert result.exit_code == 5
    assert "gpu2 is left out: gpu2 does not answer" in result.stderr
    assert "gpu1" in result.stdout or "one" in result.stdout


def test_the_only_machine_that_is_asked_and_does_not_answer_is_an_error(park: Park) -> None:
    park.unplugged.add("gpu1")

    result = park.run("du")

    assert result.exit_code == 1
    assert "gpu1 does not answer" in result.stderr


def test_verifying_everything_is_no_success_while_a_machine_does_not_answer(stocked: Park) -> None:
    stocked.must("root", "add", "gpu2:/data", "--name", "two")
    stocked.unplugged.add("gpu2")

    result = answer(stocked, "verify", "--all")

    assert [found["name"] for found in result["results"]] == ["one/hs"]
    assert [found["host"] for found in result["unreachable"]] == ["gpu2"]


def test_the_doctor_names_a_machine_that_does_not_answer(stocked: Park) -> None:
    stocked.unplugged.add("gpu1")

    findings = answer(stocked, "doctor")["findings"]

    assert [(found["object"], found["what"]) for found in findings] == [
        ("machine gpu1", "it cannot be asked: gpu1 does not answer")
    ]


def test_a_machine_that_answers_at_the_address_of_another_is_refused(stocked: Park) -> None:
    stocked.machines["gpu1"] = stocked.machines["gpu2"]

    refused = stocked.run("why", "one/hs")

    assert refused.exit_code == 4
    assert "its machine id is gpu2-id (ubuntu), and gpu1 has gpu1-id" in refused.stderr


def test_a_hold_is_written_into_the_root_on_its_machine(stocked: Park) -> None:
    stocked.must("hold", "add", "one/hs", "--reason", "paper")

    assert b"paper" in (stocked.machines["gpu1"].read_mirror(b"/data", "holds") or b"")


def test_a_hold_is_refused_while_the_machine_does_not_answer(stocked: Park) -> None:
    stocked.unplugged.add("gpu1")

    refused = stocked.run("hold", "add", "one/hs", "--reason", "paper")

    assert refused.exit_code == 1
    assert answer(stocked, "hold", "ls")["holds"] == []


def test_a_clock_that_is_off_is_told_and_file_times_go_by_their_own_machine(stocked: Park) -> None:
    gpu1 = stocked.machines["gpu1"]
    gpu1.clock.advance(timedelta(days=3))
    gpu1.do.write(b"/data/hs/shard-9", b"new")

    result = stocked.run("why", "one/hs")

    assert "the clock of gpu1 is 72.0 h ahead of this machine's" in result.stderr
    assert "within the quiet time" in result.stdout
    assert "in the future" not in result.stdout


def test_the_roots_on_a_machine_that_was_reached_are_told_how_far_the_catalog_is(stocked: Park) -> None:
    before = stocked.machines["gpu1"].read_mirror(b"/data", "catalog")

    stocked.must("hold", "add", "one/hs", "--reason", "paper")

    assert stocked.machines["gpu1"].read_mirror(b"/data", "catalog") != before


def test_plans_for_a_volume_of_another_machine_are_made_there(park: Park) -> None:
    park.machines["gpu1"].add_volume(b"/big", size_bytes=1 << 40)
    park.machines["gpu1"].do.mkdir(b"/big/dump")

    by_root = answer(park, "plan", "extraction", "--tokens", "1M", "--volume", "one")
    by_path = answer(park, "plan", "extraction", "--tokens", "1M", "--volume", "gpu1:/big/dump")

    assert (by_root["host"], by_root["mount"]) == ("gpu1", "/")
    assert (by_path["host"], by_path["mount"]) == ("gpu1", "/big")
