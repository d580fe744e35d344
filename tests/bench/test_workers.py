"""Each worker of a spread test run sees mounts, processes and networks of its own, and no neighbour's."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bench.sandbox import SANDBOX_VARIABLE
from tests.bench.workers import give_sandboxes

ASK = """
import os
print(os.readlink("/proc/self/ns/mnt"), os.environ["ARTIFACTCTL_SANDBOX"], os.readlink("/proc/self/ns/net"))
print(sum(name.isdigit() for name in os.listdir("/proc")), os.listdir("/run/netns"), os.environ["TMPDIR"])
"""


@dataclass
class Started:
    """What stands for a worker before it starts."""

    python: str | None = None


@pytest.mark.system
def test_a_worker_is_alone_in_a_sandbox_in_which_system_tests_may_run() -> None:
    worker = Started()
    ours = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "net")]
    Path("/run/netns/neighbour").touch()

    give_sandboxes([worker])
    assert worker.python is not None
    said = subprocess.run([*shlex.split(worker.python), "-c", ASK], capture_output=True, text=True, check=True).stdout
    Path("/run/netns/neighbour").unlink()

    mounts, named, network = said.splitlines()[0].split()
    assert mounts == named
    assert mounts != ours[0]
    assert network != ours[1]
    assert said.splitlines()[1] == "2 [] /run/tmp"


def test_outside_a_sandbox_a_worker_is_a_plain_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SANDBOX_VARIABLE, raising=False)
    worker = Started()

    give_sandboxes([worker])

    assert worker.python is None
