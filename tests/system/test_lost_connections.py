"""Invariant I9 over a wire: the connection breaks anywhere in a removal, and `doctor --repair` over another ends it.

Every so often (BENCH_CUT_STRIDE) a frame to the machine is the last one. Whatever was cut wherever: the tree is whole
where it was, or in quarantine and restorable byte for byte, or, where its purge had begun, gone completely.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from artifactctl.hosts.remote import RemoteHost
from tests.bench.site import QUICK_POLICY, ROOT_NAME, picture
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.hosts.wire.links import Cut, agent, breaking

pytestmark = pytest.mark.system

STRIDE = int(os.environ.get("BENCH_CUT_STRIDE", "9"))
SAID = ("--yes", "--reason", "test", "--waive", "recoverable")
MOST_FRAMES = 400


@dataclass
class Desk:
    """A command line on one side, the machine with the root on the other; `host` is the connection in use."""

    folder: Path
    root: Path
    host: RemoteHost = field(default_factory=agent)

    def run(self, *words: str) -> Result:
        """Run a command whatever comes of it."""
        surroundings = Surroundings(
            make_host=lambda _: self.host,
            environment={"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config")},
            working_directory=self.folder,
        )
        return CliRunner().invoke(program, list(words), obj=surroundings)

    def done(self, *words: str) -> Any:
        """Run a command that must succeed, for its JSON."""
        result = self.run(*words, "--json")
        assert result.exit_code == 0, f"{words}: {result.exit_code}\n{result.output}\n{result.stderr}"
        return json.loads(result.stdout)

    def interrupted(self, after_frames: int, *words: str) -> tuple[Result, bool]:
        """Run a command whose connection breaks behind that many frames; returns also whether it did."""
        steady = self.host
        self.host, link = breaking(Cut(out_frames=after_frames))
        with self.host:
            link.armed = True
            try:
                result = self.run(*words)
            finally:
                self.host = steady
            return result, len(link.sent) >= after_frames


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    """One volume for all tests of this module."""
    with mounted_volume(FilesystemKind.EXT4, tmp_path_factory.mktemp("lost")) as made:
        yield made


@pytest.fixture(scope="module")
def desk(volume: Volume, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A catalog here, a root there."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "config" / "artifactctl").mkdir(parents=True)
    (folder / "config" / "artifactctl" / "artifactctl.toml").write_text(QUICK_POLICY, encoding="utf-8")
    root = volume.mount / "data"
    root.mkdir()
    made = Desk(folder=folder, root=root)
    with made.host:
        made.done("init")
        made.done("root", "add", str(root), "--name", ROOT_NAME)
        yield made


@pytest.mark.parametrize("act", ["purge-now", "restore"])
def test_a_connection_may_break_anywhere_in_a_removal(desk: Desk, act: str) -> None:
    for frames in range(1, MOST_FRAMES, STRIDE):
        name, original = f"{ROOT_NAME}/{act}-{frames}", desk.root / f"{act}-{frames}"
        plant(original)
        desk.done("register", str(original), "--kind", "other", "--name", name)
        before = picture(original)
        words: tuple[str, ...] = ("reclaim", name, "--purge-now", *SAID)
        if act == "restore":
            desk.done("reclaim", name, *SAID)
            words = ("quarantine", "restore", name)

        result, was_cut = desk.interrupted(frames, *words)
        if os.environ.get("DBG"):
            print(frames, result.exit_code, result.output, result.stderr)

        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output
        recover(desk)
        check_whole_or_gone(desk, name, original, before, may_be_gone=act == "purge-now")
        if not was_cut:
            assert result.exit_code == 0, result.output + result.stderr
            assert frames > 2 * STRIDE, "hardly anything was cut: the test would prove nothing"
            return
    raise AssertionError("the command never came to its end")


def recover(desk: Desk) -> None:
    """Bring everything to its end over the steady connection; a second time there is nothing to do."""
    desk.done("doctor", "--repair")
    again = desk.done("doctor", "--repair")
    assert (again["repaired"], again["findings"]) == ([], [])
    desk.done("audit", "verify")


def check_whole_or_gone(desk: Desk, name: str, original: Path, before: dict[bytes, Any], *, may_be_gone: bool) -> None:
    """Whole where it was, or restorable byte for byte, or, where a purge was asked for, gone completely."""
    states = {item["name"]: item["state"] for item in desk.done("ls")["artifacts"]}
    state = states.get(name, "gone")
    if state == "quarantined":
        assert not original.exists()
        desk.done("quarantine", "restore", name)
    elif state == "gone":
        assert may_be_gone
        assert not original.exists()
        return
    assert picture(original) == before


def plant(folder: Path) -> None:
    """Make a small tree."""
    (folder / "rows").mkdir(parents=True)
    for number in range(3):
        (folder / "rows" / f"data_{number}.ckpt").write_bytes(os.urandom(3000))
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9\nline")).write_bytes(b"x")
