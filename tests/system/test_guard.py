"""`artifactctl guard` on a small volume that a real job is filling."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from artifactctl.hosts.local_processes import LocalProcesses
from tests.bench.volumes import FilesystemKind

pytestmark = pytest.mark.system

MIB = 2**20
JOB = """
import os, sys, time
if os.fork() == 0:
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        try:
            os.write(file, os.urandom(1 << 19))
            os.fsync(file)
        except OSError:  # once nobody watches any more, the volume does become full
            pass
        time.sleep(0.1)
os.wait()
"""


@pytest.fixture
def processes():
    """Start programs; all of them, and what they started, are gone afterwards."""
    started = []

    def start(words, **settings):
        process = subprocess.Popen(words, start_new_session=True, text=True, **settings)
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def guarded(volumes, cli, processes):
    """Return a function that starts a job filling a volume and a guard over it."""

    def start(kind=FilesystemKind.TMPFS):
        volume = volumes(kind)
        (volume.mount / "old").write_bytes(os.urandom(volume.available_bytes() - 45 * MIB))
        job = processes([sys.executable, "-c", JOB, str(volume.mount / "shard")])
        words = ["--pid", str(job.pid), "--path", str(volume.mount), "--pause-below", "16MiB", "--json"]
        guard = processes(
            [sys.executable, "-m", "artifactctl", "guard", *words],
            env=cli.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return volume, job, guard

    return start


def family(job):
    found = LocalProcesses().find(job.pid)
    return [] if found is None else LocalProcesses().family(found)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_paused(job):
    members = family(job)
    return len(members) == 2 and all(each.is_stopped for each in members)


def is_running(job):
    members = family(job)
    return len(members) == 2 and not any(each.is_stopped for each in members)


@pytest.mark.parametrize("kind", [FilesystemKind.TMPFS, FilesystemKind.EXT4], ids=str)
def test_the_job_is_paused_before_the_volume_is_full_and_goes_on_when_there_is_room(guarded, kind):
    volume, job, guard = guarded(kind)

    wait_for(lambda: is_paused(job))
    left = volume.available_bytes()
    time.sleep(0.5)
    assert volume.available_bytes() == left
    (volume.mount / "old").unlink()
    os.sync()
    wait_for(lambda: is_running(job))
    os.killpg(job.pid, signal.SIGKILL)
    out, err = guard.communicate(timeout=30)

    assert 4 * MIB < left < 16 * MIB
    assert guard.returncode == 0, err
    assert '"end": "writer_ended"' in out
    assert '"pauses": 1' in out
    assert "warning" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_guard_that_is_ended_leaves_the_job_running_and_says_so(guarded, number):
    _, job, guard = guarded()
    wait_for(lambda: is_paused(job))

    guard.send_signal(number)
    _, err = guard.communicate(timeout=30)

    wait_for(lambda: is_running(job))
    assert guard.returncode == 130
    assert "goes on: the watch has ended" in err


def test_a_job_that_writes_elsewhere_is_watched_with_a_warning(tmpfs_volume, cli, processes, tmp_path):
    job = processes([sys.executable, "-c", JOB, str(tmp_path / "shard")])
    words = ["--pid", str(job.pid), "--path", str(tmpfs_volume.mount), "--pause-below", "1MiB"]
    guard = processes(
        [sys.executable, "-m", "artifactctl", "guard", *words], env=cli.environment, stderr=subprocess.PIPE
    )
    time.sleep(4)
    os.killpg(job.pid, signal.SIGKILL)
    _, err = guard.communicate(timeout=30)

    assert guard.returncode == 0
    assert f"warning: process {job.pid} has no file open for writing" in err


def test_a_process_of_another_user_is_refused(tmpfs_volume, cli_of_nobody, processes):
    job = processes(["sleep", "60"])

    refused = cli_of_nobody("guard", "--pid", str(job.pid), "--path", str(tmpfs_volume.mount), "--pause-below", "1MiB")

    assert refused.code == 4
    assert "belongs to another user" in refused.stderr
    assert "sudo" in refused.stderr


def test_thresholds_above_the_volume_are_refused(tmpfs_volume, cli, processes):
    job = processes(["sleep", "60"])

    refused = cli("guard", "--pid", str(job.pid), "--path", str(tmpfs_volume.mount), "--pause-below", "60MiB")

    assert refused.code == 2
    assert "it would never go on" in refused.stderr
