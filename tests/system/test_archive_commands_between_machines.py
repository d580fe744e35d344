"""`archive`, `unarchive` and `leave` as they are typed, with artifacts on machines behind sshd."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from tests.archiving.ground import picture, plant
from tests.bench.machines import DATA, ssh_home
from tests.bench.unimportable import nothing_of_linux
from tests.system.archive_lab import seen

pytestmark = pytest.mark.system

SETTLED = ("--waive", "settled", "--reason", "copied")


@pytest.fixture
def gpus(machines, warm_cli):
    """Machines `alpha` and `beta` with the roots of their names, and the artifact `hs` on alpha."""
    ssh = ssh_home(warm_cli.home)
    made = {name: machines(name) for name in ("alpha", "beta")}
    done(warm_cli("init"))
    for name, machine in made.items():
        ssh.can_enter(machine)
        ssh.knows(machine)
        machine.inside("mkdir", f"{DATA}/root")
        done(warm_cli("host", "add", name, machine.address()))
        done(warm_cli("root", "add", f"{name}:{DATA}/root", "--name", name))
    plant(seen(made["alpha"], "hs"))
    done(warm_cli("register", f"alpha:{DATA}/root/hs", "--kind", "response_set", "--name", "hs"))
    return made


def done(outcome):
    assert outcome.code == 0, f"{outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome


def test_from_machine_to_machine_and_home_again_when_the_original_was_removed(gpus, warm_cli):
    before = picture(seen(gpus["alpha"], "hs"))
    only = warm_cli("leave", "alpha", "--by", "6h", "--json").json()

    made = done(warm_cli("archive", "hs", "--json")).json()
    safe = warm_cli("leave", "alpha", "--by", "6h", "--json").json()
    gone = done(warm_cli("reclaim", f"alpha:{DATA}/root/hs", *SETTLED, "--purge-now", "--yes"))
    away = not os.path.exists(seen(gpus["alpha"], "hs"))
    back = done(warm_cli("unarchive", "hs", "--json")).json()
    events = warm_cli("audit", "ls", "--action", "archive.done", "--json").json()["events"]

    assert [item["name"] for item in only["save"]] == ["hs"]
    assert only["destinations"] == [{"root": "beta", "host": "beta"}]
    assert (made["source_host"], made["source"]) == ("alpha", f"{DATA}/root/hs")
    assert (made["destination_host"], made["destination"]) == ("beta", f"{DATA}/root/hs")
    assert made["next_steps"] == [f"artifactctl reclaim alpha:{DATA}/root/hs --dry-run"]
    assert (safe["save"], [item["name"] for item in safe["left_behind"]]) == ([], ["hs"])
    assert away, gone.stdout
    assert back["destination_host"] == "alpha"
    assert picture(seen(gpus["alpha"], "hs")) == before
    assert [event["host"] for event in events] == ["beta", "alpha"]
    assert warm_cli("doctor").code == 0


def test_what_a_machine_that_does_not_answer_has_is_read_from_another_copy(gpus, warm_cli, tmp_path):
    done(warm_cli("archive", "hs", "--to", f"beta:{DATA}/root/kept/hs"))
    (tmp_path / "own").mkdir()
    done(warm_cli("root", "add", tmp_path / "own", "--name", "own"))
    gpus["alpha"].kill_sshd()

    silent = warm_cli("unarchive", "hs", "--to", "own")

    assert silent.code == 0, silent.stderr
    assert "left out" in silent.stderr
    assert picture(bytes(tmp_path / "own/kept/hs")) == picture(seen(gpus["beta"], "kept/hs"))


def test_a_folder_as_a_store_takes_and_gives_from_and_to_another_machine(gpus, warm_cli, tmp_path):
    before = picture(seen(gpus["alpha"], "hs"))
    url = f"file://{tmp_path}/store"

    done(warm_cli("archive", "hs", "--to", url, "--codec", "zstd"))
    done(warm_cli("reclaim", "hs", *SETTLED, "--purge-now", "--yes"))
    still_leaving = warm_cli("leave", "alpha", "--by", "6h", "--json").json()
    done(warm_cli("unarchive", "hs"))

    assert still_leaving["save"] == []
    assert picture(seen(gpus["alpha"], "hs")) == before


def test_places_that_cannot_be_are_refused_with_those_that_could(gpus, warm_cli):
    onto_itself = warm_cli("archive", "hs", "--to", "alpha")
    stays = warm_cli("leave", "alpha", "--by", "6h", "--to", f"alpha:{DATA}/root")
    nothing_begun = warm_cli("archive", "hs", "--to", "beta", "--abandon")

    assert onto_itself.code == 2
    assert "name another root: --to beta (beta)" in onto_itself.stderr
    assert stays.code == 2
    assert "lies on alpha itself, which goes away" in stays.stderr
    assert "--to beta (beta)" in stays.stderr
    assert nothing_begun.code == 2
    assert "no copy of hs was begun there" in nothing_begun.stderr


def test_a_refused_copy_is_told_at_once_by_doctor_and_by_the_next_and_can_be_given_up(gpus, warm_cli):
    place = os.fsdecode(seen(gpus["beta"], "hs"))
    done(warm_cli("archive", "hs", "--to", f"beta:{DATA}/root/kept"))
    spoilt = Path(os.fsdecode(seen(gpus["alpha"], "hs/rows/-rf")))
    times = spoilt.stat()
    spoilt.write_bytes(b"z" * times.st_size)
    os.utime(spoilt, ns=(times.st_atime_ns, times.st_mtime_ns))

    refused = warm_cli("archive", "hs", "--to", "beta")
    told = warm_cli("doctor", "--json").json()["findings"]
    again = warm_cli("archive", "hs", "--to", f"beta:{DATA}/root/other")
    given_up = warm_cli("archive", "hs", "--abandon", "--json")

    command = f"artifactctl archive hs --to beta:{DATA}/root/hs"
    assert refused.code == 4
    assert f"`{command} --abandon` takes away what was written" in " ".join(refused.stderr.split())
    assert any(f"`{command}` goes on with it" in finding["remedy"] for finding in told)
    assert f"{command} --abandon" in " ".join(again.stderr.split())
    assert len(done(given_up).json()["abandoned"]) == 2
    assert not os.path.exists(place)
    assert os.listdir(os.fsdecode(seen(gpus["beta"], ".artifactctl/archiving"))) == []
    assert not [finding for finding in warm_cli("doctor", "--json").json()["findings"] if "copy" in finding["what"]]


def test_two_machines_are_enough_for_somebody_on_a_laptop_that_is_no_linux(gpus, warm_cli):
    def run(*words):
        around = Surroundings(environment=warm_cli.environment, working_directory=warm_cli.home, platform="darwin")
        return CliRunner().invoke(program, list(words), obj=around)

    with nothing_of_linux():
        made = run("archive", "hs", "--to", "beta")
        left = run("leave", "alpha", "--by", "6h")

    assert made.exit_code == 0, made.output
    assert left.exit_code == 0, left.output
    assert picture(seen(gpus["beta"], "hs")) == picture(seen(gpus["alpha"], "hs"))
