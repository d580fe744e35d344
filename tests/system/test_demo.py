"""`artifactctl demo`: the whole story, and nothing left of it however it ends."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

EARLY, IN_THE_MIDDLE = b"2. What is it all?", b"5. Deleting with proof"


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def cpu_seconds_of_children():
    """Return what all processes took that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def loop_devices_of(place):
    """Return the loop devices whose file lies below `place`, whether or not it still has a name."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if str(place) in backing.read_text(encoding="utf-8"):
                found.append(backing)
        except FileNotFoundError:  # detached between the listing and the look
            continue
    return found


def mounts_of(place):
    """Return the mounts below `place` in the mount table of any process."""
    found = []
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            lines = table.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, ProcessLookupError, OSError):  # ended meanwhile
            continue
        found += [line for line in lines if str(place) in line]
    return found


def settled(look, *, seconds=20.0):
    """Return what `look` finds once that is nothing, or what it still finds after `seconds`."""
    deadline = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def started_up_to(chapter, cli, place):
    """Return a demonstration that has just begun a chapter, with its volume mounted."""
    process = cli.start("demo", "--dir", place)
    for line in process.stdout:
        if chapter in line:
            assert loop_devices_of(place) != []
            return process
    pytest.fail(f"it ended before {chapter!r}: {process.communicate()[1]!r}")


def test_it_tells_the_story_with_its_own_figures_and_leaves_nothing_behind(cli, place):
    before = cpu_seconds_of_children()

    told = cli("demo", "--dir", place, timeout_seconds=600)

    assert told.code == 0, told.stderr
    assert re.search(r"12T 1021G +11T +10%", told.stdout)
    assert "924G\tvolume/hs-10k" in told.stdout
    assert "840K\tvolume/vocab-map" in told.stdout
    assert "23.07 M tokens" in told.stdout
    assert "per token      42 KiB (43,008 bytes)" in told.stdout
    assert "Nothing had to be deleted: 3,517 GiB fit beside the old 924 GiB." in told.stdout
    assert re.search(r"not_held +process \d+ .*has shard-00117\.safetensors open", told.stdout)
    assert "Exit code 4: refused, nothing changed." in told.stdout
    assert "data/hs-10k: restored" in told.stdout
    assert "data/hs-10k: purged" in told.stdout
    assert re.search(r"12T +98G +11T +1%", told.stdout)
    assert "By hand, 1021G less 924G is 97G, and df says 98G." in told.stdout
    assert "the audit log is whole" in told.stdout
    assert told.stderr == ""
    assert os.listdir(place) == []
    assert settled(lambda: loop_devices_of(place)) == []
    assert mounts_of(place) == []
    assert cpu_seconds_of_children() - before < 100  # about 40 s; the clock would say how busy the machine is


@pytest.mark.parametrize(
    ("number", "chapter"),
    [(signal.SIGINT, IN_THE_MIDDLE), (signal.SIGTERM, EARLY), (signal.SIGHUP, EARLY)],
    ids=["Ctrl-C in the middle", "SIGTERM", "the terminal is closed"],
)
def test_interrupted_it_cleans_up_and_ends_with_130(cli, place, number, chapter):
    process = started_up_to(chapter, cli, place)
    process.send_signal(number)

    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert said.splitlines()[-1] == b"error: interrupted"
    assert os.listdir(place) == []
    assert settled(lambda: loop_devices_of(place)) == []
    assert settled(lambda: mounts_of(place)) == []


def test_killed_it_leaves_no_mount_no_loop_device_and_no_file(cli, place):
    process = started_up_to(EARLY, cli, place)
    process.kill()
    process.communicate(timeout=60)

    assert settled(lambda: mounts_of(place)) == []
    assert settled(lambda: loop_devices_of(place)) == []
    assert [os.listdir(left) for left in place.iterdir()] == [[]]


def test_a_reader_that_goes_away_ends_it_quietly_and_cleanly(cli, place):
    process = started_up_to(EARLY, cli, place)
    process.stdout.close()

    said = process.stderr.read()

    assert (process.wait(timeout=60), said) == (0, b"")
    process.stderr.close()
    assert os.listdir(place) == []


def test_without_root_the_same_steps_run_small_and_it_says_so(cli_of_nobody):
    told = cli_of_nobody("demo", "--dir", cli_of_nobody.cwd, timeout_seconds=600)

    assert told.code == 0, told.stderr
    assert told.stdout.splitlines()[1].startswith("Told small, 1 : 100,000")
    assert "that takes root" in told.stdout.splitlines()[1]
    assert "231 tokens" in told.stdout
    assert "Exit code 4: refused, nothing changed." in told.stdout
    assert "data/hs-10k: restored" in told.stdout
    assert "data/hs-10k: purged" in told.stdout
    assert "the audit log is whole" in told.stdout
    assert os.listdir(cli_of_nobody.cwd) == []


@pytest.fixture
def without_mkfs_xfs():
    """This machine as one without xfsprogs: the program is covered, in the sandbox's own mount table."""
    program = shutil.which("mkfs.xfs", path="/usr/sbin:/sbin")
    subprocess.run(["mount", "--bind", "/dev/null", program], check=True)
    yield
    subprocess.run(["umount", program], check=True)


@pytest.mark.usefixtures("without_mkfs_xfs")
def test_without_xfsprogs_it_names_the_package_and_runs_small(cli, place):
    process = cli.start("demo", "--dir", place)
    second_line = (process.stdout.readline(), process.stdout.readline())[1]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert b"mkfs.xfs is not installed (package xfsprogs)" in second_line
    assert os.listdir(place) == []
    assert mounts_of(place) == []


def test_a_folder_where_nobody_may_write_is_a_clear_error(cli_of_nobody):
    told = cli_of_nobody("demo", "--dir", "/usr")

    assert told.code == 2
    assert "no folder can be made in /usr" in told.stderr
    assert "--dir" in told.stderr
