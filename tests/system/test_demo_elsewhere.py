"""`artifactctl demo --host NAME`: the story on a registered machine, and nothing left of it there however it ends."""

import ast
import os
import re
import signal
import time
from pathlib import Path

import pytest
import vermin

from artifactctl.demonstration import far_side
from tests.bench.machines import DATA
from tests.system.rented import made_known, must, ssh_home_of, there

pytestmark = pytest.mark.system

IN_THE_MIDDLE = b"5. Deleting with proof"


@pytest.fixture
def alpha(machines, cli):
    made = machines("alpha")
    must(cli, "init", "--yes")
    made_known(cli, made)
    return made


def here(cli):
    """Return a fresh folder for temporary files on this machine."""
    place = cli.home / "tmp"
    place.mkdir()
    return place


def gone(machine, *, seconds=30.0):
    """Return what is left of the story on a machine once that is nothing, or after `seconds`."""
    deadline = time.monotonic() + seconds
    while (left := [*there(machine).iterdir(), *machine.running("far_side")]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def test_it_tells_the_story_on_another_machine_and_leaves_nothing_on_either(cli, alpha):
    place = here(cli)
    audited = must(cli, "audit", "ls", "--json").json()["events"]

    told = cli("demo", "--host", "alpha", "--dir", DATA, environment={"TMPDIR": str(place)}, timeout_seconds=600)

    assert told.code == 0, told.stdout + told.stderr
    assert told.stdout.splitlines()[0] == "artifactctl: the founding story, on alpha"
    assert f"$ artifactctl host add alpha {alpha.address()}" in told.stdout
    assert re.search(rf"\$ ssh {re.escape(alpha.address())} df -h {DATA}/artifactctl-demo-\w+/volume\n", told.stdout)
    assert "231 tokens" in told.stdout
    assert re.search(r"not_held +process \d+ .*has shard-00117\.safetensors open", told.stdout)
    assert "Exit code 4: refused, nothing changed." in told.stdout
    assert "data/hs-10k: restored" in told.stdout
    assert "data/hs-10k: purged" in told.stdout
    assert re.search(r" alpha +purge\.done ", told.stdout)
    assert "the audit log is whole" in told.stdout
    assert "artifactctl root add alpha:/your/volume --name data" in told.stdout
    assert told.stderr == ""
    assert gone(alpha) == []
    assert os.listdir(place) == []
    assert must(cli, "audit", "ls", "--json").json()["events"] == audited


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_interrupted_or_killed_it_leaves_nothing_on_the_other_machine(cli, alpha, how):
    process = cli.start("demo", "--host", "alpha", "--dir", DATA)
    for line in process.stdout:
        if IN_THE_MIDDLE in line:
            break
    else:
        pytest.fail(f"it ended before: {process.communicate()[1]!r}")
    process.send_signal(how)
    process.communicate(timeout=60)

    assert process.returncode == (130 if how is signal.SIGINT else -how)
    assert gone(alpha) == []


def test_the_folder_of_a_story_that_was_killed_there_is_named_by_the_next_one(cli, alpha):
    process = cli.start("demo", "--host", "alpha", "--dir", DATA)
    for line in process.stdout:
        if IN_THE_MIDDLE in line:
            break
    for each in alpha.running("far_side"):
        each.kill()
    process.communicate(timeout=60)
    (left,) = there(alpha).glob("artifactctl-demo-*")

    again = cli.start("demo", "--host", "alpha", "--dir", DATA)
    said = again.stderr.readline().decode()
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=60)

    assert f"alpha:{DATA}/{left.name} is left of an earlier story" in said
    deadline = time.monotonic() + 30
    while alpha.running("far_side") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [folder.name for folder in there(alpha).glob("artifactctl-demo-*")] == [left.name]


def test_what_somebody_mounted_into_the_folder_there_is_not_removed_with_it(cli, alpha):
    alpha.inside("mkdir", f"{DATA}/others")
    alpha.inside("sh", "-c", f"echo precious >{DATA}/others/file")
    process = cli.start("demo", "--host", "alpha", "--dir", DATA)
    for line in process.stdout:
        if IN_THE_MIDDLE in line:
            break
    (folder,) = alpha.inside("sh", "-c", f"echo {DATA}/artifactctl-demo-*").split()
    alpha.inside("mkdir", f"{folder}/theirs")
    alpha.inside("mount", "--bind", f"{DATA}/others", f"{folder}/theirs")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    deadline = time.monotonic() + 30
    while alpha.running("far_side") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alpha.inside("cat", f"{DATA}/others/file") == "precious\n"
    assert alpha.inside("cat", f"{folder}/theirs/file") == "precious\n"


def test_words_that_mean_no_place_are_clear_errors(cli, alpha):
    nobody = cli("demo", "--host", "beta")
    nowhere = cli("demo", "--host", "alpha", "--dir", "/nowhere")
    relative = cli("demo", "--host", "alpha", "--dir", "data")
    alpha.kill_sshd()
    ssh_home_of(cli).configure("ConnectTimeout 2\n")
    silent = cli("demo", "--host", "alpha")

    assert (nobody.code, "no machine `beta`" in nobody.stderr) == (2, True)
    assert (nowhere.code, "no folder can be made on alpha" in nowhere.stderr) == (2, True)
    assert (relative.code, "no absolute path on alpha" in relative.stderr) == (2, True)
    assert (silent.code, silent.stdout) == (1, "")


def test_what_is_sent_there_is_written_in_python_3_8():
    text = Path(far_side.__file__).read_text(encoding="utf-8")

    ast.parse(text, feature_version=(3, 8))
    assert vermin.detect(text)[1] <= (3, 8)
    assert "artifactctl" not in re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
