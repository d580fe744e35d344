"""Where the commands of the matrix run: two managed roots and the catalog on one volume, and bystanders."""

import hashlib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.command_line import Outcome, command_line
from tests.bench.site import ROOT_NAME, Picture, Site, managed_site, picture
from tests.bench.volumes import FilesystemKind, mounted_volume
from tests.bench.warm_command_line import ForkServer, WarmCommandLine
from tests.proof.acts import Act
from tests.proof.database import Columns, Rows, kept_columns, take_back, values


@dataclass(slots=True, kw_only=True)
class Ground:
    """A site of its own; `bystanders` are how the files looked that no command may touch."""

    site: Site
    far: Path
    bystanders: Picture = field(default_factory=dict)
    made: int = 0

    def run(self, words: str) -> Outcome:
        """Run a command given as a shell would have it."""
        return self.site(*shlex.split(words))

    def done(self, words: str) -> Outcome:
        """Run a command that must succeed."""
        return self.site.done(*shlex.split(words))

    @property
    def catalog_file(self) -> Path:
        """Where the catalog is."""
        return self.site.cli.home / "state" / "artifactctl" / "catalog.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Artifacts of one point's own. `before`: how each looked at home; `fills` are the words of the commands."""

    ground: Ground
    act: Act
    folders: tuple[str, ...]
    before: dict[str, Picture]
    older_columns: Columns
    older_values: Rows
    fills: dict[str, str]

    @property
    def command(self) -> list[str]:
        """The words of the command that is to die."""
        return shlex.split(self.act.command.format(**self.fills))


@contextmanager
def ground_on(kind: FilesystemKind, server: ForkServer, place: Path) -> Iterator[Ground]:
    """Make it on a new volume below `place`."""
    with mounted_volume(kind, place) as volume:
        person = volume.mount / "person"
        person.mkdir()
        plain = command_line(person)
        site = managed_site(volume, WarmCommandLine(home=plain.home, cwd=plain.cwd, server=server))
        far = volume.mount / "far"
        far.mkdir()
        ground = Ground(site=site, far=far)
        site.done("root", "add", far, "--name", "far")
        plant(site.root / "bystander")
        plant(site.outside / "bystander")
        site.done("register", site.root / "bystander", "--kind", "other", "--name", f"{ROOT_NAME}/bystander")
        ground.bystanders = seen_bystanders(site)
        yield ground


def seen_bystanders(site: Site) -> Picture:
    """Return how the files look that no command of the matrix may touch."""
    return {
        top + b"/" + name: look
        for top, folder in ((b"inside", site.root), (b"outside", site.outside))
        for name, look in picture(folder / "bystander").items()
    }


def prepared(ground: Ground, act: Act) -> Case:
    """Make artifacts of their own and lead up to the command."""
    ground.made += 1
    folders = tuple(f"case-{ground.made}-{letter}" for letter in "abc"[: act.artifacts])
    before = {}
    for folder in folders:
        place = ground.site.root / folder
        plant(place)
        ground.site.done("register", place, "--kind", "other", "--name", f"{ROOT_NAME}/{folder}")
        before[folder] = picture(place)
    fills = {letter: f"{ROOT_NAME}/{folder}" for letter, folder in zip("abc", folders, strict=False)}
    fills |= {"at": str(ground.site.root / folders[0]), "plan": str(ground.site.cli.cwd / f"{ground.made}.json")}
    for command in act.before:
        ground.done(command.format(**fills))
    if act.older_schema:
        take_back(ground.catalog_file, act.older_schema)
    older = kept_columns(ground.catalog_file) if act.older_schema else {}
    return Case(
        ground=ground,
        act=act,
        folders=folders,
        before=before,
        older_columns=older,
        older_values=values(ground.catalog_file, older),
        fills=fills,
    )


def plant(folder: Path) -> None:
    """Make a small tree with everything a tree can hold: links inside, hard links, names that are no UTF-8."""
    (folder / "rows_0-5000").mkdir(parents=True)
    (folder / "empty").mkdir()
    for number in range(2):
        (folder / f"data_{number}.ckpt").write_bytes(os.urandom(5000))
        (folder / "rows_0-5000" / f"data_{number}.ckpt").write_bytes(os.urandom(100))
    (folder / "latest").symlink_to("rows_0-5000/data_0.ckpt")
    (folder / "alias").hardlink_to(folder / "data_1.ckpt")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9\nline")).write_bytes(b"x")


def fingerprint(ground: Ground) -> str:
    """Return a digest over everything in both roots, the times of folders left out."""
    digest = hashlib.sha256()
    for root in (ground.site.root, ground.far):
        for name, (mode, inode, size, time_ns, content) in sorted(picture(root).items()):
            is_folder = mode >> 12 == 0o4
            digest.update(repr((name, mode, inode, size, 0 if is_folder else time_ns, content)).encode())
    return digest.hexdigest()
