"""System tests run only where they can do no harm, and the sandbox leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT, REQUIRE_VARIABLE, SANDBOX_VARIABLE

SANDBOX = CHECKOUT / "tests" / "bench" / "sandbox.sh"
A_SYSTEM_TEST = "tests/bench/test_volumes.py::test_every_program_the_volumes_need_is_installed"


@pytest.mark.parametrize(
    ("claimed", "demanded", "code", "word"),
    [("", "", 0, "skipped"), ("mnt:[1]", "1", 1, "error")],
    ids=["skipped when the sandbox is unset", "failed where demanded, the sandbox being another namespace"],
)
def test_outside_the_sandbox_a_system_test_is(claimed: str, demanded: str, code: int, word: str) -> None:
    environment = {**os.environ, SANDBOX_VARIABLE: claimed, REQUIRE_VARIABLE: demanded}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", A_SYSTEM_TEST],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stdout + done.stderr
    assert f"1 {word}" in done.stdout
    assert "system tests " in done.stdout


@pytest.mark.system
def test_what_happens_in_the_sandbox_stays_there(tmp_path: Path) -> None:
    mark = f"{os.getpid()}9999"
    script = f"mount -t tmpfs x {tmp_path}; sleep {mark} & readlink /proc/self/ns/mnt; ip -o link; exit 7"

    done = subprocess.run([SANDBOX, "bash", "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 7, done.stderr
    assert os.readlink("/proc/self/ns/mnt") not in done.stdout
    assert done.stdout.count(": <") == 1, "a network interface besides the loopback"
    assert not os.path.ismount(tmp_path)
    assert mark not in _all_command_lines()


@pytest.mark.system
def test_orphans_are_collected_in_the_sandbox() -> None:
    script = "(sleep 0.1 &); sleep 0.5; grep -h ^State /proc/[0-9]*/status"

    done = subprocess.run([SANDBOX, "bash", "-c", script], capture_output=True, text=True, check=True)

    assert "zombie" not in done.stdout


def _all_command_lines() -> str:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes().decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return "\n".join(found)
