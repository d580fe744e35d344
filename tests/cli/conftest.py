"""What the tests of the command line stand on: a home of its own, the program as a process, plug-ins made here."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.stock import Shop

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(tmp_path):
    """Return the environment of a user who has nothing set up."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def artifactctl(tmp_path, environment) -> Callable[..., subprocess.CompletedProcess]:
    """Return a function that runs the program as a process of its own, in an empty folder."""
    folder = tmp_path / "work"
    folder.mkdir()

    def run(*words, text=True, extra=None, **settings):
        return subprocess.run(
            [sys.executable, "-m", "artifactctl", *words],
            cwd=folder,
            env={**environment, **(extra or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=text,
            timeout=60,
            check=False,
            **settings,
        )

    run.folder = folder
    return run


@pytest.fixture
def plug_in(tmp_path, environment) -> Callable[[str], None]:
    """Return a function that installs one module whose `command` answers to the name `visitor`."""

    def install(source: str) -> None:
        site = tmp_path / "site"
        metadata = site / "visitor-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: visitor\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text("[artifactctl.commands]\nvisitor = visitor_module:command\n")
        (site / "visitor_module.py").write_text(source)
        environment["PYTHONPATH"] += f":{site}"

    return install


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Shop:
    """Return an empty place to run commands in, with the volume as working directory: no catalog, no root."""
    (tmp_path / "volume").mkdir()
    monkeypatch.chdir(tmp_path / "volume")
    return Shop(folder=tmp_path)


@pytest.fixture
def stocked(shop) -> Shop:
    """Return a place with a root, artifacts on disk and a catalog that knows them."""
    shop.stock()
    return shop
