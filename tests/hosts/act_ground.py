"""A managed root on a real directory, and the words that tests of acting need."""

import hashlib
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import FileIdentity, ManagedPath
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe import filesystems, kernel
from artifactctl.hosts.protocol import ManifestNote, Marker, PurgeResult, SetAside

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A managed root with a host that acts on it."""

    host: LocalHost
    root: Root

    @property
    def path(self) -> bytes:
        return self.root.path

    def at(self, relative: str | bytes) -> bytes:
        return os.path.join(self.path, os.fsencode(relative))

    def quarantine(self, name: str | bytes = b"") -> bytes:
        return os.path.join(self.path, b".artifactctl/quarantine", os.fsencode(name))

    def intend(self, relative: str | bytes, operation: str = "op1", *, sibling: bool = False) -> str:
        note = note_for(self.root, os.fsencode(relative), operation)
        return self.host.intend(self.root, note, sibling=sibling)

    def set_aside(self, relative: str | bytes, operation: str = "op1", *, sibling: bool = False) -> SetAside:
        self.intend(relative, operation, sibling=sibling)
        return self.host.set_aside(self.root, operation)

    def condemn(self, relative: str | bytes, operation: str = "op1", *, sibling: bool = False) -> None:
        assert self.set_aside(relative, operation, sibling=sibling) is SetAside.DONE
        self.host.confirm(self.root, operation)
        self.host.begin_purge(self.root, operation)

    def purge(self, operation: str = "op1", **options) -> PurgeResult:
        return self.host.purge(self.root, operation, **options)

    def record(self, operation: str = "op1"):
        return {record.operation: record for record in self.host.operations(self.root)}[operation]

    def content(self, operation: str = "op1", relative: bytes = b"") -> bytes:
        """Return where a member of what was set aside lies now."""
        record = self.record(operation)
        place = record.placed
        if record.in_purging:
            folder = operation.encode() + b"/content"
            place = place.replace(b"quarantine/" + folder, b"quarantine/" + operation.encode() + b".purging/content")
        return os.path.join(self.path, place, relative).rstrip(b"/")


def managed(path: Path | bytes, root_id: str = "root-1") -> Ground:
    """Mark a directory as a managed root."""
    folder = os.fsencode(path)
    root = described(folder, root_id)
    host = LocalHost()
    host.write_marker(
        folder,
        Marker(
            root_id=root_id,
            name="scratch",
            catalog_id="catalog-1",
            catalog_epoch=1,
            filesystem_uuid=root.filesystem_uuid,
            inode=root.inode,
        ),
    )
    return Ground(host=host, root=root)


def described(folder: bytes, root_id: str = "root-1") -> Root:
    """Return the root that stands at a path, as the catalog would record it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return Root(
            root_id=root_id,
            name="scratch",
            host_id=1,
            path=folder,
            filesystem_uuid=filesystems.identify(descriptor, None),
            filesystem_type="",
            inode=os.fstat(descriptor).st_ino,
        )
    finally:
        os.close(descriptor)


def note_for(root: Root, relative: bytes, operation: str) -> ManifestNote:
    seen = kernel.statx(os.path.join(root.path, relative))
    return ManifestNote(
        operation=operation,
        target=ManagedPath(root=root.path, relative=relative),
        name="scratch/" + os.fsdecode(relative).encode("utf-8", "replace").decode(),
        kind="hidden_states",
        identity=FileIdentity(
            filesystem_uuid=root.filesystem_uuid,
            inode=seen.inode,
            birth_ns=seen.birth_ns,
            ctime_ns=None if seen.birth_ns is not None else seen.changed_ns,
        ),
        fingerprint="planned",
        allocated_bytes=4096,
        root_id=root.root_id,
        catalog_id="catalog-1",
        reason="superseded",
        actor="tester",
        evidence_json='[{"guard": "not_held", "verdict": "clear"}]',
        at=NOON,
    )


def plant(folder: bytes, files: int = 3, size: int = 5000) -> None:
    """Make a small tree: files, a sub-folder, a link inside, a hard link, an empty folder, a name that is no UTF-8."""
    os.makedirs(os.path.join(folder, b"rows_0-5000"))
    os.mkdir(os.path.join(folder, b"empty"))
    for number in range(files):
        for place in (b"", b"rows_0-5000"):
            with open(os.path.join(folder, place, b"data_%d.ckpt" % number), "wb") as file:
                file.write(bytes([number]) * size)
    os.symlink(b"data_0.ckpt", os.path.join(folder, b"latest"))
    os.link(os.path.join(folder, b"data_0.ckpt"), os.path.join(folder, b"rows_0-5000", b"alias"))
    with open(os.path.join(folder, b"caf\xe9\nline"), "wb") as file:
        file.write(b"x")


def picture(folder: bytes) -> dict[bytes, tuple]:
    """Return every name below a folder (b"" is itself) with type, inode and content: equal pictures, equal trees."""
    seen = {b"": _look(folder)}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            seen[os.path.relpath(path, folder)] = _look(path)
    return seen


def _look(path: bytes) -> tuple:
    status = os.lstat(path)
    content = ""
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path).decode()
    return stat.S_IFMT(status.st_mode), status.st_ino, status.st_mode, content
