"""One act in a process of its own: `python act_child.py ROOT ACT`, stopped where ARTIFACTCTL_POINT says."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def run_act(root: bytes, act: str, point: str = "", *, wrapper: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    """Run an act to its end."""
    return subprocess.run(
        [*wrapper, sys.executable, "-m", "tests.hosts.act_child", os.fsdecode(root), act],
        cwd=CHECKOUT,
        env={**os.environ, "ARTIFACTCTL_POINT": point},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def start_act(root: bytes, act: str, point: str) -> subprocess.Popen:
    """Start an act that will wait at a point."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.hosts.act_child", os.fsdecode(root), act],
        cwd=CHECKOUT,
        env={**os.environ, "ARTIFACTCTL_POINT": point},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def main(root: str, act: str) -> None:
    """Do one act on operation op1, whose target is `old`."""
    from tests.hosts.act_ground import Ground, LocalHost, described

    ground = Ground(host=LocalHost(), root=described(os.fsencode(root)))
    acts = {
        "intend": lambda: ground.intend("old"),
        "set-aside": lambda: ground.host.set_aside(ground.root, "op1").value,
        "put-back": lambda: ground.host.put_back(ground.root, "op1", to=None, reason="").value,
        "begin-purge": lambda: ground.host.begin_purge(ground.root, "op1"),
        "purge": lambda: ground.purge("op1"),
        "slow-purge": lambda: ground.purge("op1", files_per_second=50.0),
    }
    print(acts[act]())


if __name__ == "__main__":
    main(*sys.argv[1:])
