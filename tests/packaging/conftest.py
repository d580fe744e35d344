"""One wheel for all packaging tests, built from an sdist of a copy, and one fresh environment that has it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT
from tests.house.sources import tracked_files

STALE = "artifactctl/migrations/versions/0000_renamed_since.py"

# setuptools replaces sys.argv while it builds, so the two folders are read first.
BUILD = """
import os, sys, tarfile
from setuptools import build_meta
source, out = sys.argv[1:]
os.chdir(source)
sdist = build_meta.build_sdist(out)
with tarfile.open(os.path.join(out, sdist)) as archive:
    archive.extractall(out, filter="data")
os.chdir(os.path.join(out, sdist.removesuffix(".tar.gz")))
print("built", build_meta.build_wheel(out))
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from an sdist, in a tree where an earlier build left a migration that was renamed since."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, source / name)
    stale = source / "build" / "lib" / STALE
    stale.parent.mkdir(parents=True)
    stale.write_text("revision = '0000'\n")
    done = _run([sys.executable, "-c", BUILD, str(source), str(out)], cwd=out)
    return out / done.rsplit("built ", 1)[1].strip()


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment with the wheel in it.

    The dependencies are borrowed from the environment of the tests by a .pth file, which needs no network; a path
    added that way runs no .pth files of its own, so an editable artifactctl there stays out of sight.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    _run([*pip, str(wheel)], cwd=folder)
    ask = "import json, sysconfig; print(json.dumps(sysconfig.get_path('purelib')))"
    libraries = Path(json.loads(_run([str(python), "-c", ask], cwd=folder)))
    (libraries / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def _run(command: list[str], *, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
