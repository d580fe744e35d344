"""Commands run as a stranger's would: real processes, nothing inherited, nobody's privileges where asked for."""

import json
import os
import sys
from datetime import timedelta

import pytest

from tests.bench.clocks import NOON, FixedClock
from tests.bench.command_line import CommandLine
from tests.bench.nobody import NOBODY, as_nobody
from tests.bench.sandbox import CHECKOUT
from tests.bench.volumes import Volume


def test_nothing_of_the_developers_environment_is_inherited(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFACTCTL_CATALOG", "/somewhere/real")
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/real")

    environment = cli.environment

    assert "ARTIFACTCTL_CATALOG" not in environment
    assert environment["XDG_STATE_HOME"].startswith(environment["HOME"])
    assert "/somewhere/real" not in environment.values()


def test_the_program_that_runs_is_the_one_of_this_checkout(cli: CommandLine) -> None:
    version = cli("--version")

    assert (version.code, version.stdout, version.stderr) == (0, "artifactctl 0.1.0\n", "")


def test_a_clock_stands_until_it_is_moved(clock: FixedClock) -> None:
    assert clock.now() == NOON == clock.now()

    assert clock.advance(timedelta(hours=-1)) == clock.now() == NOON - timedelta(hours=1)


@pytest.mark.system
def test_nobody_runs_the_same_python_without_any_privilege(ext4_volume: Volume) -> None:
    secret = ext4_volume.mount / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    shown = ext4_volume.mount / "shown"
    shown.write_text("to all")
    ask = """
import artifactctl, json, os, sys
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps({"ids": [os.getuid(), os.getgid(), os.getgroups()], "capabilities": status["CapEff"].strip("0"),
                  "readable": [os.access(path, os.R_OK) for path in sys.argv[1:]],
                  "fds_of_1": os.access("/proc/1/fd", os.R_OK)}))
"""

    done = as_nobody(
        [sys.executable, "-c", ask, secret, shown], cwd=ext4_volume.mount, env={"PYTHONPATH": str(CHECKOUT)}
    )

    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "ids": [NOBODY, NOBODY, []],
        "capabilities": "",
        "readable": [False, True],
        "fds_of_1": False,
    }


@pytest.mark.system
def test_what_root_keeps_beside_the_interpreter_stays_closed_to_nobody() -> None:
    done = as_nobody(["ls", os.path.expanduser("~root")])

    assert ".bash_history" not in done.stdout
    assert ".ssh" not in done.stdout
