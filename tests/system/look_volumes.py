"""Throw-away volumes and processes that hold things, for the tests of looking."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KINDS = ("ext4", "xfs", "btrfs", "tmpfs")
_SIZES = {"ext4": "64M", "xfs": "320M", "btrfs": "160M"}


def needs_namespace() -> None:
    """Skip unless root runs this in a mount namespace of its own (ARTIFACTCTL_SANDBOX names it)."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if os.environ.get("ARTIFACTCTL_SANDBOX") != os.readlink("/proc/self/ns/mnt"):
        pytest.skip("needs a namespace of its own")


def run(*words: str | bytes | Path) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def open_place() -> Iterator[Path]:
    """Make a folder that anybody may enter; pytest closes its own at the start of every session on the machine."""
    needs_namespace()
    place = Path(tempfile.mkdtemp(dir="/run"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@contextmanager
def mounted(kind: str, place: Path, *, options: str = "") -> Iterator[Path]:
    """Mount a fresh filesystem below `place` while the context lasts."""
    mount = place / f"{kind}-volume"
    mount.mkdir()
    if kind == "tmpfs":
        run("mount", "-t", "tmpfs", "-o", f"size=64m{options}", "look", mount)
    else:
        image = place / f"{kind}.image"
        run("truncate", "-s", _SIZES[kind], image)
        run(f"mkfs.{kind}", "-q", *(["-F"] if kind == "ext4" else []), image)
        run("mount", "-o", f"loop{options}", image, mount)
    try:
        yield mount
    finally:
        run("umount", mount)


@contextmanager
def holding(code: str, *arguments: str | Path) -> Iterator[int]:
    """Run Python `code` in a child until it is ready; it keeps what it holds while the context lasts."""
    ending = "\nprint('ready', flush=True)\nsys.stdin.read()\n"
    words = [sys.executable, "-c", "import os, sys\n" + code + ending, *map(str, arguments)]
    with waiting(words) as process:
        yield process


@contextmanager
def waiting(words: list[str]) -> Iterator[int]:
    """Run a command that prints `ready` and then waits for the end of its input."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n", "the holder did not start"
            yield child.pid
        finally:
            child.stdin.close()
            child.wait(timeout=10)
