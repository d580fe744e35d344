"""A managed root on a real volume with the command line that manages it, and the words tests of removal need."""

import hashlib
import os
import stat
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.command_line import Outcome, Word
from tests.bench.volumes import Volume
from tests.bench.warm_command_line import WarmCommandLine

ROOT_NAME = "vol"
QUICK_POLICY = '[policy]\nquiet_time = "0s"\n'
"""What a test that has just made its files must say; a flag could not say it, since limits only tighten there."""

Picture = dict[bytes, tuple[int, int, int, int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The managed folder `root` is called `vol`; `outside` lies beside it on the same filesystem."""

    root: Path
    outside: Path
    cli: WarmCommandLine

    def __call__(self, *words: Word, **options: object) -> Outcome:
        """Run a command whatever comes of it."""
        return self.cli(*words, **options)  # type: ignore[arg-type]

    def done(self, *words: Word) -> Outcome:
        """Run a command that must succeed."""
        outcome = self.cli(*words)
        assert outcome.code == 0, f"{words}: {outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
        return outcome

    def later(self, ahead: timedelta) -> "Site":
        """Return the same site after some time."""
        return replace(self, cli=replace(self.cli, clock_ahead=ahead, is_later=True))

    def clock_set(self, ahead: timedelta) -> "Site":
        """Return the same site with its clock set, while no time passes."""
        return replace(self, cli=replace(self.cli, clock_ahead=ahead, is_later=False))

    def dump(self, name: str, rows: tuple[int, ...] = (300, 400)) -> Path:
        """Write hidden states (about 50 bytes a row) to the folder `name`."""
        return safetensors_shards(self.root / name, rows=rows)

    def superseded(self, name: str = "old", *, rows: tuple[int, ...] = (300, 400)) -> str:
        """Make an artifact that may go: superseded by the verified `vol/<name>-new`; returns its name.

        Other files that lie in the folder already become members as well.
        """
        others = (self.root / name).exists()
        self.dump(name, rows)
        if others:
            self.done("register", self.root / name, "--kind", "hidden_states", "--name", f"{ROOT_NAME}/{name}")
        self.dump(f"{name}-new")
        self.done("scan", ROOT_NAME)
        self.done("verify", f"{ROOT_NAME}/{name}-new")
        self.done("supersede", f"{ROOT_NAME}/{name}", "--by", f"{ROOT_NAME}/{name}-new")
        return f"{ROOT_NAME}/{name}"

    def set_aside(self, name: str, *more: Word) -> dict[str, object]:
        """Reclaim `name` into quarantine and return its one step."""
        steps = self.done("reclaim", name, "--yes", "--reason", "test", *more, "--json").json()["steps"]
        assert len(steps) == 1
        return dict(steps[0])

    def states(self) -> dict[str, str]:
        """Return the state of every artifact by name."""
        return {item["name"]: item["state"] for item in self.done("ls", "--json").json()["artifacts"]}

    def quarantined(self) -> list[str]:
        """Return the names of what lies in quarantine."""
        return [item["name"] for item in self.done("quarantine", "ls", "--json").json()["quarantined"]]

    def content_in_quarantine(self) -> list[Path]:
        """Return the folders or files that lie in the root's own quarantine folder, however they are called there."""
        place = self.root / ".artifactctl" / "quarantine"
        return [path for folder in place.iterdir() if folder.is_dir() for path in folder.glob("content*")]


def managed_site(volume: Volume, cli: WarmCommandLine, *, owner: int = 0) -> Site:
    """Make catalog and root on the volume, with files made a moment ago counting as settled."""
    root, outside = volume.mount / "data", volume.mount / "outside"
    root.mkdir()
    outside.mkdir()
    os.chown(root, owner, owner)
    settle_at_once(cli)
    site = Site(root=root, outside=outside, cli=cli)
    site.done("init")
    site.done("root", "add", root, "--name", ROOT_NAME)
    return site


def settle_at_once(cli: WarmCommandLine) -> None:
    """Configure the user's command line so that files made a moment ago count as settled."""
    folder = cli.home / "config" / "artifactctl"
    folder.mkdir(parents=True)
    (folder / "artifactctl.toml").write_text(QUICK_POLICY, encoding="utf-8")


def picture(top: Path | bytes) -> Picture:
    """Return every name below `top` (b"" is itself) with type and mode, inode, size, modification and content."""
    path = os.fsencode(top)
    seen = {b"": _look(path)}
    if stat.S_ISDIR(os.lstat(path).st_mode):
        waiting = [b""]
        while waiting:
            here = waiting.pop()
            with os.scandir(os.path.join(path, here)) as entries:
                for entry in entries:
                    relative = os.path.join(here, entry.name)
                    seen[relative] = _look(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(relative)
    return seen


def _look(path: bytes) -> tuple[int, int, int, int, str]:
    status = os.lstat(path)
    content = ""
    if stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.fsdecode(os.readlink(path))
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return status.st_mode, status.st_ino, size, status.st_mtime_ns, content
