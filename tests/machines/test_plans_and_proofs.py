"""Plans are bound to their machine, and what a removal rests on is looked at on whichever machine it lies."""

import json
from pathlib import Path
from typing import Any

import pytest

from artifactctl.domain.artifacts import ReplicaState
from tests.machines.park import Park

WAIVED = ("--waive", "recoverable", "--reason", "not needed")


@pytest.fixture
def stocked(park: Park) -> Park:
    """`one/hs` is registered on gpu1."""
    park.stock(park.machines["gpu1"], "hs")
    park.must("register", "gpu1:/data/hs", "--kind", "hidden_states")
    return park


def saved_plan(park: Park) -> Path:
    file = park.folder / "plan.json"
    park.must("reclaim", "one/hs", *WAIVED, "--out", str(file))
    return file


def evidence(park: Park, name: str, guard: str) -> dict[str, Any]:
    found = json.loads(park.run("why", name, "--json").stdout)["evidence"]
    return next(item for item in found if item["guard"] == guard)


def test_a_plan_names_machine_id_host_key_and_filesystem(stocked: Park) -> None:
    plan = json.loads(saved_plan(stocked).read_text())

    assert (plan["host"], plan["machine_id"], plan["host_key"]) == ("gpu1", "gpu1-id", "SHA256:gpu1")
    assert plan["steps"][0]["filesystem_uuid"] == "volume-1"


def test_a_plan_is_applied_on_its_machine(stocked: Park) -> None:
    file = saved_plan(stocked)

    stocked.must("apply", str(file), "--reason", "room", "--yes")

    assert stocked.connected == ["gpu1"]
    assert stocked.state("one/hs") is ReplicaState.QUARANTINED


def test_a_plan_is_refused_where_a_clone_answers_with_the_same_path_filesystem_and_machine_id(stocked: Park) -> None:
    """The catalog now knows only the clone: equal in everything but the key by which it proves who it is."""
    file = saved_plan(stocked)
    clone = stocked.machines["gpu1"].copy()
    with stocked.catalog() as catalog, catalog.writing("ada@laptop", stocked.now()) as writing:
        writing.connection.exec_driver_sql("update host set host_key = 'SHA256:clone' where name = 'gpu1'")
    stocked.machines["gpu1"] = clone

    refused = stocked.run("apply", str(file), "--reason", "room", "--yes")

    assert refused.exit_code == 4
    assert "made for the machine gpu1 (machine id gpu1-id, host key SHA256:gpu1)" in refused.stderr
    assert clone.disk.exists(b"/data/hs")


def test_a_plan_goes_to_the_machine_of_its_key_not_to_its_twin(stocked: Park) -> None:
    twin = stocked.add("twin", machine_id="gpu1-id", host_key="SHA256:twin")
    stocked.stock(twin, "hs")
    stocked.must("root", "add", "twin:/data", "--name", "three")
    file = saved_plan(stocked)

    stocked.must("apply", str(file), "--reason", "room", "--yes")

    assert not stocked.machines["gpu1"].disk.exists(b"/data/hs")
    assert twin.disk.exists(b"/data/hs")


def test_what_lies_on_two_machines_with_cloned_disks_is_no_one_plan(stocked: Park) -> None:
    stocked.must("root", "add", "gpu2:/data", "--name", "two")
    stocked.stock(stocked.machines["gpu2"], "other")
    stocked.must("register", "gpu2:/data/other", "--kind", "hidden_states")

    refused = stocked.run("reclaim", "one/hs", "two/other", "--dry-run")

    assert refused.exit_code == 2
    assert "these lie on 2 machines: gpu1, gpu2" in refused.stderr


def test_a_saved_capacity_plan_is_read_against_the_volume_of_its_machine(stocked: Park) -> None:
    file = stocked.folder / "capacity.json"
    stocked.must("plan", "extraction", "--tokens", "1M", "--volume", "one", "--out", str(file))

    result = stocked.must("reclaim", "--for", str(file), "--dry-run")

    assert "Nothing needs to be deleted" in result.stdout
    assert stocked.connected == ["gpu1"]


@pytest.fixture
def copied(stocked: Park) -> Park:
    """A second copy of `one/hs` lies on gpu2, and both are verified."""
    stocked.must("root", "add", "gpu2:/data", "--name", "two")
    stocked.copy_to("one/hs", "gpu2", "two")
    stocked.verify("one/hs")
    return stocked


def test_a_verified_copy_on_another_machine_is_looked_at_there(copied: Park) -> None:
    found = evidence(copied, "one/hs", "recoverable")

    assert (found["verdict"], found["reason"]) == ("clear", "another verified copy is on `two`")
    assert set(copied.connected) == {"gpu1", "gpu2"}


def test_a_copy_that_was_changed_on_another_machine_is_no_proof(copied: Park) -> None:
    copied.machines["gpu2"].do.unlink(b"/data/hs/shard-1")

    refused = copied.run("reclaim", "gpu1:/data/hs", "--dry-run")

    assert refused.exit_code == 4
    assert "no other verified copy" in refused.stdout


def test_a_copy_on_a_machine_that_does_not_answer_is_no_proof_and_the_verdict_is_unknown(copied: Park) -> None:
    copied.unplugged.add("gpu2")

    refused = copied.run("reclaim", "gpu1:/data/hs", "--dry-run", "--json")

    (kept,) = json.loads(refused.stdout)["refused"]
    (blocking,) = [item for item in kept["evidence"] if item["guard"] == "recoverable"]
    assert refused.exit_code == 4
    assert blocking["verdict"] == "unknown"
    assert "its copy on `two` cannot be looked at: gpu2 does not answer" in blocking["reason"]


def test_a_recipe_whose_input_lives_on_another_machine_counts_only_while_that_answers(stocked: Park) -> None:
    stocked.must("root", "add", "gpu2:/data", "--name", "two")
    stocked.stock(stocked.machines["gpu2"], "corpus")
    stocked.must("register", "gpu2:/data/corpus", "--kind", "merged_corpus")
    stocked.must("link", "one/hs", "--input", "gpu2:/data/corpus:extracted_from")

    there = evidence(stocked, "one/hs", "recoverable")
    stocked.unplugged.add("gpu2")
    silent = evidence(stocked, "one/hs", "recoverable")

    assert (there["verdict"], there["reason"]) == ("clear", "can be built again from two/corpus")
    assert silent["verdict"] != "clear"
    assert "its input two/corpus is no proof now" in silent["reason"]


def test_links_on_another_machine_with_the_same_paths_keep_nothing(copied: Park) -> None:
    copied.machines["gpu2"].do.symlink(b"hs", b"/data/latest")

    assert copied.run("reclaim", "gpu1:/data/hs", "--dry-run").exit_code == 0
