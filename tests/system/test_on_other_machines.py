"""The founding story on real machines behind sshd: each with its own filesystem at the same path."""

import os
import subprocess
import threading
import time

import psutil
import pytest
from click.testing import CliRunner

from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from tests.bench.machines import DATA, ssh_home
from tests.bench.unimportable import nothing_of_linux
from tests.system.rented import WAIVED, dump, made_known, registered, there

pytestmark = pytest.mark.system


@pytest.fixture
def ssh(warm_cli):
    """The home of the command line."""
    return ssh_home(warm_cli.home)


def test_the_story_of_a_deletion_is_the_same_on_another_machine(gpu, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs")
    with there(alpha, "hs", "1").open("rb") as shard:
        reader = subprocess.Popen(
            ["nsenter", "--target", str(alpha._first().pid), "--mount", "--pid", "--", "sleep", "300"], stdin=shard
        )
    held = warm_cli("reclaim", hs, *WAIVED, "--yes", "--json")
    for child in psutil.Process(reader.pid).children():  # nsenter only waits for it
        child.kill()
    reader.wait()

    aside = warm_cli("reclaim", hs, *WAIVED, "--yes", "--json")
    gone_from_its_place = not there(alpha, "hs").exists()
    back = warm_cli("quarantine", "restore", hs)
    is_back = there(alpha, "hs", "1").exists()
    purged = warm_cli("reclaim", hs, *WAIVED, "--purge-now", "--yes", "--json")

    assert held.code == 4
    assert "sleep" in held.stdout
    assert aside.code == 0, aside.stdout + aside.stderr
    assert gone_from_its_place
    assert back.code == 0, back.stderr
    assert is_back
    assert purged.code == 0, purged.stdout + purged.stderr
    assert [step["outcome"] for step in purged.json()["steps"]] == ["purged"]
    events = warm_cli("audit", "ls", "--artifact", hs, "--json").json()["events"]
    assert {event["host"] for event in events if event["action"].startswith(("quarantine", "purge"))} == {"alpha"}
    assert warm_cli("doctor").code == 0


def test_a_plan_is_never_applied_to_a_clone_with_the_same_machine_id_path_and_content(gpu, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs")
    plan = warm_cli.home / "plan.json"
    assert warm_cli("reclaim", hs, *WAIVED, "--out", str(plan)).code == 0
    clone = gpu("beta", machine_id=alpha.machine_id)
    dump(clone, "hs")

    done = warm_cli("apply", str(plan), "--reason", "room", "--yes")

    assert done.code == 0, done.stderr
    assert not there(alpha, "hs").exists()
    assert there(clone, "hs").exists()


def test_a_machine_that_is_cut_off_is_named_and_the_others_are_told_about(gpu, warm_cli):
    alpha, beta = gpu("alpha"), gpu("beta")
    registered(warm_cli, alpha, "one")
    registered(warm_cli, beta, "two")

    everything = warm_cli("verify", "--all", "--level", "members", "--json")
    beta.kill_sshd()
    without = warm_cli("df", "--json")

    assert {(result["name"], result["host"]) for result in everything.json()["results"]} == {
        ("one", "alpha"),
        ("two", "beta"),
    }
    assert without.code == 5
    assert {volume["host"] for volume in without.json()["volumes"]} == {"alpha"}
    assert [silent["host"] for silent in without.json()["unreachable"]] == ["beta"]


def test_a_copy_on_another_machine_counts_only_while_it_can_be_looked_at(gpu, warm_cli):
    alpha, beta = gpu("alpha"), gpu("beta")
    corpus = registered(warm_cli, beta, "corpus")
    hs = registered(warm_cli, alpha, "hs")
    assert warm_cli("link", hs, "--input", f"{corpus}:extracted_from").code == 0
    changed = warm_cli("register", f"beta:{DATA}/corpus", "--kind", "merged_corpus")
    assert changed.code == 0, changed.stderr

    there_it_is = recoverable(warm_cli, hs)
    beta.kill_sshd()
    silent = recoverable(warm_cli, hs)

    assert there_it_is["verdict"] == "clear", there_it_is
    assert silent["verdict"] != "clear"
    assert "cannot be looked at" in silent["reason"]


def recoverable(run, name):
    found = run("why", name, "--json").json()["evidence"]
    return next(item for item in found if item["guard"] == "recoverable")


def test_first_aid_is_given_on_another_machine(gpu, warm_cli):
    alpha = gpu("alpha")
    dump(alpha, "old")
    alpha.inside("sh", "-c", f"head -c 40M /dev/zero > {DATA}/old/shard && touch -d '3 days ago' {DATA}/old/*")

    aid = warm_cli("rescue", f"alpha:{DATA}", "--need", "30MiB", "--seconds", "2", "--json")

    assert aid.code == 0, aid.stderr
    assert aid.json()["volume"] == str(DATA)
    assert 0 < aid.json()["free_bytes"] < 30 << 20


def test_a_job_that_writes_on_another_machine_is_measured_there(gpu, warm_cli):
    alpha = gpu("alpha")
    dump(alpha, "run")
    alpha.inside("sh", "-c", f"head -c 8M /dev/zero > {DATA}/run/shard")

    plan = warm_cli("plan", "running", f"alpha:{DATA}/run", "--bytes", "1GiB", "--watch", "1s", "--json")

    assert plan.code == 3, plan.stderr
    assert plan.json()["written_bytes"] == 8 << 20
    assert (plan.json()["host"], plan.json()["verdict"]) == ("alpha", "does_not_fit")


def test_a_machine_without_python_answers_df_and_du_and_refuses_the_rest(gpu, machines, ssh, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs")
    bare = machines("alpha", python=False, machine_id=alpha.machine_id)
    bare_too = ("host", "add", "bare", bare.address())
    ssh.can_enter(bare)
    ssh.knows(bare)
    assert warm_cli(*bare_too).code == 0

    space = warm_cli("df", "--host", "bare", "--json")
    refused = warm_cli("root", "add", f"bare:{DATA}")

    assert space.code == 0, space.stderr
    assert str(DATA) in {volume["mount"] for volume in space.json()["volumes"]}
    assert refused.code == 4
    assert "install python3 on bare" in refused.stderr
    assert warm_cli("why", hs).code == 0


def test_a_machine_without_python_tells_how_large_any_path_is(gpu, machines, warm_cli):
    alpha = gpu("alpha")
    bare = machines("bare", python=False)
    made_known(warm_cli, bare)
    bare.inside("sh", "-c", f"mkdir {DATA}/old && head -c 3M /dev/zero > {DATA}/old/shard")
    allocated = int(bare.inside("du", "-sB1", DATA / "old").split()[0])

    told = warm_cli("du", f"bare:{DATA}/old", "--json")
    shown = warm_cli("du", f"bare:{DATA}/old")
    nothing = warm_cli("du", f"bare:{DATA}/new")
    elsewhere = warm_cli("du", f"{alpha.name}:/usr")

    assert told.code == 0, told.stderr
    assert told.json()["total_bytes"] == allocated
    (place,) = told.json()["places"]
    assert (place["host"], place["path"], place["uncatalogued_bytes"]) == ("bare", f"{DATA}/old", allocated)
    assert shown.stdout.splitlines()[0] == f"bare:{DATA}/old  3.00 MiB"
    assert "bare has no Python 3.8 or newer: whose bytes these are is not told" in shown.stdout
    assert (nothing.code, "it is not there" in nothing.stderr) == (1, True)
    assert (elsewhere.code, "lies below no root" in elsewhere.stderr) == (2, True)


def test_a_machine_that_lost_its_python_is_looked_at_and_nothing_is_removed_there(gpu, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs")
    alpha.lose_python()

    space, sizes = warm_cli("df", "--json"), warm_cli("du", "--json")
    refused = [warm_cli("reclaim", hs, *WAIVED, "--yes"), warm_cli("scan", "alpha-data")]

    assert (space.code, sizes.code) == (0, 0), (space.stderr, sizes.stderr)
    assert {volume["host"] for volume in space.json()["volumes"]} == {"alpha"}
    assert sizes.json()["places"][0]["path"] == str(DATA)
    assert [outcome.code for outcome in refused] == [4, 4]
    assert all("install python3 on alpha" in outcome.stderr for outcome in refused)
    assert there(alpha, "hs", "1").exists()


def test_all_of_it_works_from_where_nothing_of_linux_can_be_imported(gpu, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs")

    def run(*words):
        surroundings = Surroundings(
            environment=warm_cli.environment, working_directory=warm_cli.home, platform="darwin"
        )
        return CliRunner().invoke(program, list(words), obj=surroundings)

    with nothing_of_linux():
        looked = [run(*words) for words in (("df",), ("du",), ("scan", "alpha-data"), ("why", hs), ("doctor",))]
        gone = run("reclaim", hs, *WAIVED, "--purge-now", "--yes")

    assert [(result.exit_code, result.output) for result in looked if result.exit_code] == []
    assert gone.exit_code == 0, gone.output
    assert not there(alpha, "hs").exists()


def test_a_purge_that_loses_its_machine_is_unknown_and_ended_when_that_answers_again(gpu, warm_cli):
    alpha = gpu("alpha")
    hs = registered(warm_cli, alpha, "hs", files=20_000)
    assert warm_cli("reclaim", hs, *WAIVED, "--yes").code == 0
    watching = threading.Thread(target=lose_when_it_begins, args=(alpha,))
    watching.start()

    lost = warm_cli("quarantine", "purge", hs, "--reason", "room", "--yes")
    watching.join()
    unknown = warm_cli("doctor", "--json").json()["findings"]
    alpha.start_sshd()
    repaired = warm_cli("doctor", "--repair", "--json")

    assert lost.code in (0, 1, 5)
    assert any("cannot be asked" in finding["what"] for finding in unknown)
    assert repaired.code == 0, repaired.stdout
    assert not there(alpha, "hs").exists()
    assert warm_cli("ls", "--state", "gone", "--json").json()["artifacts"][0]["name"] == hs
    assert not list(there(alpha, ".artifactctl", "quarantine").glob("*.purging"))


def lose_when_it_begins(machine):
    folder = there(machine, ".artifactctl", "quarantine")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(name.endswith(".purging") for name in os.listdir(folder)):
        time.sleep(0.001)
    machine.kill_sshd()
