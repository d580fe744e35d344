"""The operating side may be a Mac: nothing that only Linux has is imported or read before this machine is looked at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT

# What a Mac lacks, and what the probe makes its system calls with; /proc is not there either.
BARE = """
import os, sys

class NotHere:
    names = {"fcntl", "ctypes", "_ctypes", "resource", "spwd", "pwd", "grp", "termios", "posix1e", "syslog"}
    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"no {name} on this machine", name=name)

for name in NotHere.names & set(sys.modules):
    del sys.modules[name]
sys.meta_path.insert(0, NotHere())
for name in ("O_PATH", "O_TMPFILE", "memfd_create", "posix_fadvise", "sched_getaffinity", "pidfd_open", "setns"):
    if hasattr(os, name):
        delattr(os, name)

def check(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(f"there is no {arguments[0]}")

sys.addaudithook(check)
"""
ASK = """
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire.bootstrap import command
from artifactctl.hosts.wire.pipe import PipeChannel

with RemoteHost(PipeChannel(command(sys.executable)), machine="gpu1") as host:
    place = os.fsencode(sys.argv[1])
    assert host.identify().machine_id or True
    assert [entry.name for listing in host.walk(place) for entry in listing.entries] == [b"file"]
    assert host.usage(place).size_bytes and host.identity(place) and host.read_marker(place) is None
    try:
        host.lock
        host.read_range(place, 0, 1)
    except Exception as failure:
        assert type(failure).__name__ == "HostFailure", failure
    else:
        raise AssertionError("a folder was read")
print(sorted(name for name in sys.modules if name.startswith("artifactctl.hosts.probe.")))
"""
PURE = ["calls", "failures", "frames", "reports"]


def bare(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it where only what every system has is there."""
    return subprocess.run(
        (sys.executable, "-c", BARE + code, *words), cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


def test_another_machine_can_be_asked_from_one_that_is_no_linux(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = bare(ASK, os.fspath(tmp_path))

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([f"artifactctl.hosts.probe.{name}" for name in PURE])


@pytest.mark.parametrize(
    "module",
    [
        "artifactctl.hosts.remote",
        "artifactctl.hosts.local",
        "artifactctl.hosts.sightings",
        "artifactctl.hosts.use_sightings",
        "artifactctl.hosts.protocol",
        "artifactctl.hosts.wire.pipe",
        "artifactctl.hosts.wire.packing",
    ],
)
def test_it_can_be_imported_there(module: str) -> None:
    done = bare(f"import {module}\n")

    assert done.returncode == 0, done.stderr


EVERYTHING = """
import importlib, pkgutil, sys

class NotHere:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "spwd", "posix1e"}:
            raise ModuleNotFoundError(f"no {name} on this machine", name=name)

sys.modules.pop("fcntl", None)
sys.meta_path.insert(0, NotHere())
import artifactctl
for module in pkgutil.walk_packages(artifactctl.__path__, "artifactctl."):
    if not module.name.startswith("artifactctl.hosts.probe."):
        importlib.import_module(module.name)
print(sorted(name for name in sys.modules if name.startswith("artifactctl.hosts.probe.")))
"""


def test_only_the_probe_needs_linux() -> None:
    done = subprocess.run((sys.executable, "-c", EVERYTHING), cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "session" not in done.stdout  # nothing imports the probe itself before it is asked


def test_this_test_would_notice() -> None:
    done = bare("import artifactctl.hosts.probe.rootlock\n")

    assert "no fcntl on this machine" in done.stderr or "no ctypes on this machine" in done.stderr
