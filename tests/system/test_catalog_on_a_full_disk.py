"""A catalog whose disk is completely full still opens and commits, process after process (invariant I11)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

_SANDBOX = ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "--propagation", "private", "bash", "-euc"]

_VOLUMES = {
    "ext4": "truncate -s 128M image; mkfs.ext4 -qF image; mount -o loop image volume",
    "xfs": "truncate -s 320M image; mkfs.xfs -qf image; mount -o loop image volume",
    "btrfs": "truncate -s 160M image; mkfs.btrfs -qf image > mkfs.log 2>&1; mount -o loop image volume",
    "tmpfs": "mount -t tmpfs -o size=32m none volume",
}

_FILL = "for size in 1M 4k 512; do dd if=/dev/zero bs=$size >> volume/fill 2>/dev/null || true; sync; done"

_COMMITS = """
import datetime, sys
from artifactctl import audit
from artifactctl.catalog import create_or_upgrade, open_catalog
from artifactctl.domain.audit import AuditAction, AuditEntry

noon = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
catalog = (create_or_upgrade if sys.argv[1] == "0" else open_catalog)("volume/state/catalog.db", now=noon)
for number in range(4):
    with catalog.writing("ada", noon) as writing:
        writing.add_host(f"host-{sys.argv[1]}-{number}", machine_id="m")
        entry = AuditEntry(at=noon, actor="ada", host="h", action=AuditAction.RUN_RECORD, evidence="e" * 2000)
        audit.append(writing.connection, entry)
with catalog.reading() as reading:
    assert audit.verify(reading.connection).ok
    print(len(reading.hosts()))
catalog.close()
"""


@pytest.mark.parametrize("kind", _VOLUMES)
def test_small_commits_succeed_on_a_completely_full_disk(tmp_path: Path, kind: str):
    (tmp_path / "volume").mkdir()
    (tmp_path / "commits.py").write_text(_COMMITS)
    commits = f"{sys.executable} commits.py"
    script = f"{_VOLUMES[kind]}; {commits} 0; " + "".join(f"{_FILL}; {commits} {turn}; " for turn in range(1, 6))

    done = subprocess.run(
        [*_SANDBOX, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.stdout.split() == ["4", "8", "12", "16", "20", "24"], done.stderr
