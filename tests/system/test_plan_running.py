"""`plan running` and `rescue` beside real writers on real filesystems: rate, what remains, and when the volume is full.

The one looks at files below a folder, the other at what processes have open: both must come to the same rate.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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
folder, block = sys.argv[1], os.urandom({MIB} // 8)
start, sent = time.monotonic(), 0
def next_block():
    "A block whenever one is due; what the machine delayed is made up for, so the mean rate is exact."
    global sent
    time.sleep(max(0.0, start + sent / {RATE} - time.monotonic()))
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
    volumes: VolumeFactory, cli: CommandLine, writer: str
) -> None:
    mounts = [volumes(kind, size_bytes=400 * MIB).mount for kind in KINDS]

    with ThreadPoolExecutor() as pool:
        for kind, problem in zip(KINDS, pool.map(lambda mount: what_is_wrong(cli, mount, writer), mounts), strict=True):
            assert problem == {}, kind


def what_is_wrong(cli: CommandLine, mount: Path, writer: str) -> dict[str, tuple[float, float]]:
    """Return what the two commands say that is more than a tenth off: (said, true) by name."""
    with subprocess.Popen([sys.executable, "-c", WRITERS[writer], mount]) as process:
        try:
            outcome = cli("plan", "running", mount, "--bytes", f"{WHOLE // MIB}MiB", "--watch", "5s", "--json")
            ended_at = datetime.now(UTC)
            rescued = cli("rescue", mount, "--seconds", "5", "--json").json()
            assert process.poll() is None, "the writer must outlast the look"
        finally:
            process.kill()
    plan = outcome.json()
    left = datetime.fromisoformat(plan["full_at"]) - ended_at
    claims = {
        "rate": (plan["bytes_per_second"], RATE),
        "rate in first aid": (rescued["writers"][0]["bytes_per_second"], RATE),
        "remaining": (plan["demand_bytes"], WHOLE - plan["written_bytes"]),
        "duration": (plan["duration_seconds"], plan["demand_bytes"] / RATE),
        "full in": (left / timedelta(seconds=1), plan["headroom_bytes"] / RATE),
    }
    return {name: (said, true) for name, (said, true) in claims.items() if said != pytest.approx(true, rel=0.1)}
