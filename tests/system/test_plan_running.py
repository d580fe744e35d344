"""`plan running` and `rescue` beside real writers on real filesystems: rate, what remains, and when the volume is full.

The one looks at files below a folder a dozen times, the other twice at what processes have open. A busy machine makes
the writers uneven, and nobody knows which seconds a command looked at: right is what some window of its run would give.
"""

import subprocess
import sys
import time
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.fixtures import VolumeFactory
from tests.bench.volumes import MIB, FilesystemKind

pytestmark = pytest.mark.system

RATE = 8 * MIB
WHOLE = 2000 * MIB
KINDS = (FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS)

PACE = f"""
import os, sys, time
folder, log, block = sys.argv[1], open(sys.argv[2], "w", buffering=1), os.urandom({MIB} // 8)
start, sent = time.monotonic(), 0
def next_block():
    "A block whenever one is due; what the machine delayed is made up for, so the mean rate is exact."
    global sent
    time.sleep(max(0.0, start + sent / {RATE} - time.monotonic()))
    print(time.monotonic(), sent, file=log)  # what was written before
    sent += len(block)
    return block
"""
WRITERS = {
    "appends to one file": PACE
    + """
with open(folder + "/rows", "wb", buffering=0) as file:
    while True:
        file.write(next_block())
""",
    "writes shard after shard": PACE
    + """
number = 0
while True:
    number += 1
    with open(f"{folder}/.shard-{number}.partial", "wb", buffering=0) as file:
        for _ in range(10):
            file.write(next_block())
    os.rename(f"{folder}/.shard-{number}.partial", f"{folder}/shard-{number}")
""",
    "fills a file that was made large": PACE
    + """
with open(folder + "/rows", "wb", buffering=0) as file:
    file.truncate(1 << 31)
    while True:
        file.write(next_block())
        os.fdatasync(file.fileno())
""",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_real_writer_is_measured_right_on_every_filesystem(
    volumes: VolumeFactory, cli: CommandLine, writer: str, tmp_path: Path
) -> None:
    mounts = [volumes(kind, size_bytes=400 * MIB).mount for kind in KINDS]
    logs = [tmp_path / kind for kind in KINDS]

    with ThreadPoolExecutor() as pool:
        problems = pool.map(lambda mount, log: what_is_wrong(cli, mount, log, writer), mounts, logs)
        for kind, problem in zip(KINDS, problems, strict=True):
            assert problem == {}, kind


def test_first_aid_comes_to_the_same_rate_on_every_filesystem(
    volumes: VolumeFactory, cli: CommandLine, tmp_path: Path
) -> None:
    mounts = [volumes(kind, size_bytes=400 * MIB).mount for kind in KINDS]
    logs = [tmp_path / kind for kind in KINDS]

    with ThreadPoolExecutor() as pool:
        found = dict(zip(KINDS, pool.map(lambda mount, log: first_aid(cli, mount, log), mounts, logs), strict=True))

    assert {kind: said for kind, (said, truth) in found.items() if not truth.covers(said, within=0.2)} == {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The slowest and the fastest that a writer was over so many seconds, in bytes a second."""

    slowest: float
    fastest: float

    def covers(self, said: float, *, within: float) -> bool:
        """Whether a rate is one that the writer had."""
        return self.slowest * (1 - within) <= said <= self.fastest * (1 + within)


def pace(log: Path, *, begun: float, ended: float, seconds: float) -> Pace:
    """Return how fast the writer was in the windows of that length between two instants of the monotonic clock."""
    lines = [line.split() for line in log.read_text().splitlines() if line.count(" ") == 1]
    written = [(float(at), int(sent)) for at, sent in lines if begun <= float(at) <= ended]
    times = [at for at, _ in written]
    rates = []
    for at, sent in written:
        if at + seconds > ended:
            break
        last_at, last_sent = written[bisect_right(times, at + seconds) - 1]
        rates.append((last_sent - sent) / (last_at - at))
    return Pace(slowest=min(rates), fastest=max(rates))


def first_aid(cli: CommandLine, mount: Path, log: Path) -> tuple[float, Pace]:
    """Return the rate that `rescue` tells of the writer, and what it was."""
    with subprocess.Popen([sys.executable, "-c", WRITERS["appends to one file"], mount, log]) as process:
        begun = time.monotonic()
        try:
            writers = cli("rescue", mount, "--json").json()["writers"]
        finally:
            process.kill()
    said = float(next(writer["bytes_per_second"] for writer in writers if writer["pid"] == process.pid))
    return said, pace(log, begun=begun, ended=time.monotonic(), seconds=1)


def what_is_wrong(cli: CommandLine, mount: Path, log: Path, writer: str) -> dict[str, tuple[float, Pace]]:
    """Return what the plan says that is more than a tenth off: what was said, and the rates, by name."""
    with subprocess.Popen([sys.executable, "-c", WRITERS[writer], mount, log]) as process:
        begun, begun_at = time.monotonic(), datetime.now(UTC)
        try:
            outcome = cli("plan", "running", mount, "--bytes", f"{WHOLE // MIB}MiB", "--watch", "5s", "--json")
            ended, ended_at = time.monotonic(), datetime.now(UTC)
            assert process.poll() is None, "the writer must outlast the look"
        finally:
            process.kill()
    plan = outcome.json()
    truth = pace(log, begun=begun, ended=ended, seconds=5)
    full_at, headroom = datetime.fromisoformat(plan["full_at"]), plan["headroom_bytes"]
    earliest = begun_at + timedelta(seconds=0.9 * headroom / truth.fastest)
    latest = ended_at + timedelta(seconds=1.1 * headroom / truth.slowest)
    assert earliest <= full_at <= latest, (earliest, full_at, latest)
    assert plan["demand_bytes"] == pytest.approx(WHOLE - plan["written_bytes"], rel=0.1)
    rates = {
        "rate": plan["bytes_per_second"],
        "duration": plan["demand_bytes"] / plan["duration_seconds"],
    }
    return {name: (said, truth) for name, said in rates.items() if not truth.covers(said, within=0.1)}
