"""The demo's story by hand on two real machines: on one somebody reads a shard, on the other nobody does."""

import re

import pytest

from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.machines import DATA
from tests.bench.volumes import FilesystemKind
from tests.hosts.act_ground import picture
from tests.system.rented import must, ssh_home_of, there

pytestmark = pytest.mark.system

GIVEN_UP = ("--waive", "recoverable,settled", "--reason", "superseded by the run of December")


@pytest.fixture
def two(machines, volumes, warm_cli):
    """Two machines that let this person in, each with hidden states at the same path of a filesystem of its own."""
    made = [machines(name, volume=volumes(kind)) for name, kind in
            (("alpha", FilesystemKind.EXT4), ("beta", FilesystemKind.XFS))]  # fmt: skip
    for machine in made:
        safetensors_shards(there(machine, "hs-10k"), rows=(300, 400))
        ssh_home_of(warm_cli).can_enter(machine)
    return made


def test_what_a_reader_holds_on_one_machine_stays_and_its_like_on_the_other_goes_comes_back_and_goes(two, warm_cli):
    alpha, beta = two
    before = {machine.name: picture(there(machine, "hs-10k")) for machine in two}

    must(warm_cli, "init", "--yes")
    for machine in two:
        must(warm_cli, "host", "add", machine.name, machine.address(), "--host-key", machine.fingerprint())
        must(warm_cli, "root", "add", f"{machine.name}:{DATA}", "--name", f"{machine.name}-data")
    found = must(warm_cli, "scan", "--host", "alpha", "--host", "beta", "--json").json()
    must(warm_cli, "verify", "--all")
    fits = must(warm_cli, "plan", "extraction", "--tokens", "100", "--volume", f"beta:{DATA}", "--json").json()
    with alpha.reading(DATA / "hs-10k" / "shard-00001.safetensors"):
        looked = warm_cli("reclaim", "alpha-data/hs-10k", *GIVEN_UP, "--dry-run", "--json")
        refused = warm_cli("reclaim", "alpha-data/hs-10k", *GIVEN_UP, "--yes")
        gone = must(warm_cli, "reclaim", "beta-data/hs-10k", *GIVEN_UP, "--yes", "--json").json()
    set_aside = not there(beta, "hs-10k").exists()
    must(warm_cli, "quarantine", "restore", "beta-data/hs-10k", "--reason", "second thoughts", "--yes")
    restored = picture(there(beta, "hs-10k"))
    must(warm_cli, "reclaim", f"beta:{DATA}/hs-10k", *GIVEN_UP, "--yes")
    purged = must(warm_cli, "quarantine", "purge", "beta-data/hs-10k", "--yes", "--json").json()
    told = must(warm_cli, "audit", "ls", "--artifact", "beta-data/hs-10k")
    events = must(warm_cli, "audit", "ls", "--json").json()["events"]

    assert {(each["name"], each["host"]) for each in found["registered"]} == {
        ("alpha-data/hs-10k", "alpha"),
        ("beta-data/hs-10k", "beta"),
    }
    assert (fits["verdict"], fits["host"]) == ("fits", "beta")
    assert (looked.code, looked.json()["host"]) == (4, "alpha")
    assert refused.code == 4
    assert "sleep" in refused.stdout
    assert "shard-00001.safetensors open" in refused.stdout
    assert picture(there(alpha, "hs-10k")) == before["alpha"]
    assert [step["outcome"] for step in gone["steps"]] == ["quarantined"]
    assert set_aside
    assert restored == before["beta"]
    (step,) = purged["steps"]
    assert (step["outcome"], step["measured_freed_bytes"]) == ("purged", step["expected_freed_bytes"])
    assert not there(beta, "hs-10k").exists()
    acted = {(e["action"].partition(".")[0], e["host"]) for e in events if e["artifact"] == "beta-data/hs-10k"}
    assert {("quarantine", "beta"), ("restore", "beta"), ("purge", "beta")} <= acted
    assert {host for _, host in acted} == {"beta"}
    assert re.search(r" beta +purge\.done ", told.stdout)
    must(warm_cli, "audit", "verify")
    assert must(warm_cli, "doctor", "--json").json()["findings"] == []


def test_nothing_of_the_tool_stays_on_a_machine_but_the_folder_in_its_root(two, warm_cli):
    alpha, _ = two
    home = sorted(alpha.home().rglob("*"))
    must(warm_cli, "init", "--yes")
    must(warm_cli, "host", "add", "alpha", alpha.address(), "--host-key", alpha.fingerprint())
    must(warm_cli, "root", "add", f"alpha:{DATA}", "--name", "data")
    must(warm_cli, "scan", "data")

    assert sorted(path.name for path in there(alpha).iterdir() if path.name != "lost+found") == [
        ".artifactctl",
        "hs-10k",
    ]
    assert sorted(alpha.home().rglob("*")) == home
    assert alpha.running("python") == []
