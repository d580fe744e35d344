"""Two managed roots on this machine, a catalog, and an artifact that has everything a copy must keep."""

import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from artifactctl import audit
from artifactctl.archiving.archive import archive_to_root
from artifactctl.archiving.destination import destination_for, target_of_word
from artifactctl.archiving.source import source_of
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Catalog, create_or_upgrade
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica, Root
from artifactctl.hosts.local import LocalHost
from artifactctl.inventory.places import Here
from artifactctl.inventory.registering import Statement, register
from artifactctl.inventory.roots import add_root
from artifactctl.inventory.targets import Target
from artifactctl.report.archive import CopyMade

NOON = datetime.now(UTC) + timedelta(hours=1)
"""When everything happens: after the files were made, whose times are real."""
ACTOR = "alice@node-1"
OLD_NS = 1_700_000_000_123_456_789

Picture = dict[bytes, tuple[Any, ...]]


@dataclass(slots=True)
class Ground:
    """Roots `near` and `far`; the artifact `hidden` lies in `near`."""

    near: Root
    far: Root
    catalog: Catalog
    host: LocalHost = field(default_factory=LocalHost)
    said: list[str] = field(default_factory=list)

    def work(self, **options: Any) -> ArchivingWork:
        return ArchivingWork(
            catalog=self.catalog,
            identity=self.host.identify,
            host_of=lambda root: self.host,
            actor=ACTOR,
            clock=lambda: NOON,
            new_operation=lambda: f"copy-{uuid.uuid4().hex[:8]}",
            say=self.said.append,
            **options,
        )

    def archive(self, name: str = "hidden", to: str | None = "far", **options: Any) -> CopyMade:
        work = self.work(**options)
        meant = self.place(to) if to is not None else None
        artifact = self.known(name)
        replica = source_of(work, artifact, towards=meant.root if meant else None)
        return archive_to_root(work, artifact, replica, destination_for(work, artifact, replica, meant))

    def place(self, word: str) -> Target:
        """Return what `--to` means."""
        here = Here(directory=b"/", identify=self.host.identify)
        return target_of_word(self.catalog, word, here=here, reach=lambda machine: self.host)

    def known(self, name: str = "hidden") -> Artifact:
        with self.catalog.reading() as reading:
            found = reading.artifact(name)
        assert found is not None, name
        return found

    def replica(self, root: Root, name: str = "hidden") -> Replica:
        (found,) = [r for r in self.known(name).replicas if r.root.root_id == root.root_id]
        return found

    def at(self, root: Root, relative: str | bytes = b"hidden") -> bytes:
        return os.path.join(root.path, os.fsencode(relative))

    def aside(self, root: Root) -> list[str]:
        """Return the folders of copies in the root."""
        place = os.path.join(root.path, b".artifactctl/archiving")
        return sorted(os.listdir(os.fsdecode(place))) if os.path.exists(place) else []

    def register(self, relative: bytes, *, name: str) -> Artifact:
        statement = Statement(kind=ArtifactKind.HIDDEN_STATES, name=name, tokens=10)
        return register(self.host, self.catalog, self.at(self.near, relative), statement, now=NOON, actor=ACTOR)

    def actions(self, name: str = "hidden") -> list[str]:
        with self.catalog.reading() as reading:
            return [str(event.entry.action) for event in audit.events(reading.connection, artifact=name)]


@contextmanager
def ground_at(folder: Path, *, near: Path | None = None, far: Path | None = None) -> Iterator[Ground]:
    """Make a catalog and the two roots, and `hidden` with everything in it."""
    places = [near or folder / "near", far or folder / "far"]
    for place in places:
        place.mkdir(exist_ok=True)
    catalog = create_or_upgrade(folder / "catalog.db", now=NOON)
    host = LocalHost()
    try:
        roots = [
            add_root(host, catalog, bytes(place), name=name, now=NOON, actor=ACTOR)
            for place, name in zip(places, ("near", "far"), strict=True)
        ]
        ground = Ground(near=roots[0], far=roots[1], catalog=catalog, host=host)
        plant(ground.at(ground.near))
        ground.register(b"hidden", name="hidden")
        yield ground
    finally:
        catalog.close()


def plant(folder: bytes) -> None:
    """Make files large and small, one of them sparse, links, two names of one file, an empty folder, odd names."""
    os.makedirs(os.path.join(folder, b"rows", b"deep"))
    os.mkdir(os.path.join(folder, b"empty"))
    contents = {b"data_0.bin": os.urandom(3_000_000), b"rows/data_1.bin": os.urandom(70_000), b"rows/deep/nothing": b""}
    for name, content in {**contents, b"caf\xe9\nline": b"x", b"rows/-rf": b"y" * 4096}.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    with open(os.path.join(folder, b"sparse"), "wb") as file:
        file.write(b"begin")
        file.seek(6_000_000)
        file.write(b"middle")
        file.truncate(9_000_000)
    os.link(os.path.join(folder, b"data_0.bin"), os.path.join(folder, b"rows", b"again"))
    os.symlink(b"data_0.bin", os.path.join(folder, b"latest"))
    os.symlink(b"../data_0.bin", os.path.join(folder, b"rows", b"up"))
    os.chmod(os.path.join(folder, b"data_0.bin"), 0o440)
    os.chmod(os.path.join(folder, b"empty"), 0o555)
    for name in (b"data_0.bin", b"empty", b"rows/deep", b"rows", b"latest", b""):
        os.utime(os.path.join(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)


def picture(top: bytes) -> Picture:
    """Return everything that must be the same in a copy, by relative path."""
    seen: Picture = {}
    first: dict[int, bytes] = {}
    for here, folders, files in os.walk(top):
        folders.sort()
        for name in sorted([*folders, *files, *([b"."] if here == top else [])]):
            path = os.path.normpath(os.path.join(here, name))
            relative = os.path.relpath(path, top)
            status = os.lstat(path)
            same = first.setdefault(status.st_ino, relative) if stat.S_ISREG(status.st_mode) else b""
            seen[relative] = (stat.S_IFMT(status.st_mode), status.st_mode, status.st_mtime_ns, _content(path), same)
    return seen


def _content(path: bytes) -> str:
    if os.path.islink(path):
        return os.fsdecode(os.readlink(path))
    if os.path.isdir(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
