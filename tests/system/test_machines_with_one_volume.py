"""Two machines over ssh that mount one folder: whoever is to remove something asks the other, from either side."""

from contextlib import contextmanager
from subprocess import PIPE, Popen

import psutil
import pytest

from tests.bench.machines import DATA
from tests.bench.volumes import FilesystemKind
from tests.system.rented import made_known, must, registered, there

pytestmark = pytest.mark.system

SAID = ("--waive", "recoverable,settled", "--reason", "room")


@pytest.fixture
def shared(machines, volumes, warm_cli):
    """`alpha` and `beta` have one volume at /run/data; the root is alpha's, and both are on record as its clients."""
    volume = volumes(FilesystemKind.EXT4)
    alpha, beta = (machines(name, volume=volume) for name in ("alpha", "beta"))
    must(warm_cli, "init")
    for machine in (alpha, beta):
        made_known(warm_cli, machine)
    must(warm_cli, "root", "add", f"alpha:{DATA}", "--name", "data", "--sole-clients", "alpha,beta")
    registered(warm_cli, alpha, "hs")
    return alpha, beta


@contextmanager
def standing_in(machine, folder):
    """Let a shell of the machine have the folder as its working directory, and nothing open."""
    command = [*machine.entering, "sh", "-c", 'cd "$1" && echo in && exec sleep 300', "reader", str(folder)]
    with Popen(command, stdout=PIPE) as entering:
        assert entering.stdout is not None
        assert entering.stdout.readline() == b"in\n"
        try:
            yield
        finally:
            for child in psutil.Process(entering.pid).children():
                child.kill()


def not_held(run, name="hs"):
    plan = run("reclaim", name, "--dry-run", "--json", *SAID).json()
    (item,) = [*plan["steps"], *plan["refused"]]
    return next(each for each in item["evidence"] if each["guard"] == "not_held")


def test_a_reader_on_either_machine_refuses_and_is_named_by_its_machine(shared, warm_cli):
    alpha, beta = shared

    with standing_in(beta, DATA / "hs"):  # no kernel tells alpha of it
        on_beta = not_held(warm_cli)
        refused = warm_cli("reclaim", "hs", *SAID, "--yes")
    with alpha.reading(DATA / "hs" / "1"):
        on_alpha = not_held(warm_cli)
    free = not_held(warm_cli)

    assert (on_beta["verdict"], on_alpha["verdict"], free["verdict"]) == ("blocked", "blocked", "attested")
    assert on_beta["reason"].startswith("on beta: process")
    assert "beta" not in on_alpha["reason"]
    assert ["asked", "beta"] in free["facts"]
    assert refused.code == 4
    assert there(beta, "hs").exists()


def test_each_machine_can_be_the_one_that_has_the_root(shared, warm_cli):
    _, beta = shared
    must(warm_cli, "root", "forget", "data", "--yes")
    must(warm_cli, "root", "add", f"beta:{DATA}", "--name", "data", "--sole-clients", "alpha,beta")

    with standing_in(shared[0], DATA / "hs"):
        found = not_held(warm_cli)

    assert found["reason"].startswith("on alpha: process"), found
    assert not_held(warm_cli)["verdict"] == "attested"
    assert there(beta, "hs").exists()


def test_a_client_that_does_not_answer_is_named_and_nothing_goes_until_it_does(shared, warm_cli):
    _, beta = shared
    beta.kill_sshd()

    silent = not_held(warm_cli)
    refused = warm_cli("reclaim", "hs", *SAID, "--yes")
    beta.start_sshd()

    assert (silent["verdict"], silent["facts"]) == ("unknown", [["not_asked", "beta"]])
    assert refused.code == 4
    assert must(warm_cli, "reclaim", "hs", *SAID, "--yes", "--json").json()["steps"][0]["outcome"] == "quarantined"


def test_what_was_set_aside_is_seen_by_the_other_machine_and_kept_for_a_day(shared, warm_cli):
    _, beta = shared
    must(warm_cli, "reclaim", "hs", *SAID, "--yes")
    (content,) = there(beta, ".artifactctl", "quarantine").glob("*/content*")

    early = warm_cli("quarantine", "purge", "hs", "--yes", "--json").json()["steps"][0]

    assert early["outcome"] == "refused"
    assert any(fact == ["purge", "too early"] for each in early["evidence"] for fact in each["facts"])
    assert content.exists()
