"""A `Workshop` is a machine to test together with the hands of its users: they write, link, mount, hold and kill."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import FileIdentity, ManagedPath
from artifactctl.domain.observation import HolderKind, Observation
from artifactctl.domain.operations import OperationRecord
from artifactctl.hosts.protocol import Host, ManifestNote, Marker

CATALOG_ID, CATALOG_EPOCH = "catalog-1", 1
NOTED_AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

Tree = dict[bytes, tuple[str, bytes, int]]
"""What is below a path: relative path -> (type, content or link target, inode); b"" is the top."""


class Workshop(Protocol):
    """The hands. All paths are absolute; `top` is an empty folder on a filesystem that nobody else uses."""

    host: Host
    top: bytes
    holder_kinds: Sequence[HolderKind]

    def folder(self, path: bytes) -> None:
        """Make a folder, and those above it."""

    def write(self, path: bytes, content: bytes) -> None:
        """Give the file this content, keeping its inode if it exists."""

    def read(self, path: bytes) -> bytes:
        """Return the content of a file."""

    def link(self, existing: bytes, path: bytes) -> None:
        """Give the file another name."""

    def symlink(self, target: bytes, path: bytes) -> None:
        """Make a symbolic link."""

    def fifo(self, path: bytes) -> None:
        """Make a named pipe."""

    def remove(self, path: bytes) -> None:
        """Remove a file, link or whole tree."""

    def rename(self, source: bytes, destination: bytes) -> None:
        """Rename."""

    def set_modified(self, path: bytes, modified_ns: int) -> None:
        """Set mtime; ctime becomes now."""

    def set_mode(self, path: bytes, mode: int) -> None:
        """Set permissions."""

    def set_immutable(self, path: bytes, immutable: bool) -> None:
        """Set or clear the immutable attribute."""

    def exists(self, path: bytes) -> bool:
        """Whether anything stands there."""

    def tree(self, path: bytes) -> Tree:
        """Return everything below."""

    def holding(self, kind: HolderKind, path: bytes) -> AbstractContextManager[object]:
        """Let a process use the file or folder in this way."""

    def writing(self, path: bytes, *, mapped: bool) -> AbstractContextManager[object]:
        """Let a process have the file open for writing, or mapped writable and shared with no descriptor left."""

    def bound(self, source: bytes, place: bytes) -> AbstractContextManager[object]:
        """Bind-mount one existing folder on another."""

    def other_volume(self, place: bytes) -> AbstractContextManager[object]:
        """Mount another, empty filesystem on an existing folder."""

    def copy_root(self, source: bytes, destination: bytes) -> None:
        """Copy a whole tree, private folder included, as `cp -a` does."""

    def fill(self) -> None:
        """Write to the volume until not a byte is left."""

    def kill_points(self, verb: str) -> Sequence[object]:
        """Return where a call of the host method can be killed; some may lie after its end."""

    def killed_at(self, point: object, action: Callable[[], object]) -> bool:
        """Do it in a process that is killed at the point; return whether it was (else the action was finished)."""

    def take_lock_away(self, root: Root) -> None:
        """Let the lock of the root go lost for its holder, who is not told."""


@dataclass(slots=True)
class Scene:
    """One managed root in a workshop, and one target in it at `runs/dump`."""

    workshop: Workshop
    root: Root
    operation: str = "operation-1"
    target: ManagedPath = field(init=False)

    def __post_init__(self) -> None:
        self.target = ManagedPath(root=self.root.path, relative=b"runs/dump")
        self.workshop.folder(self.root.path + b"/runs")

    @property
    def host(self) -> Host:
        """The machine under test."""
        return self.workshop.host

    @property
    def path(self) -> bytes:
        """Where the target stands."""
        return self.target.absolute

    def dump(self, shards: int = 3) -> "Scene":
        """Make the target a folder of shards with one folder below; returns the scene."""
        for number in range(shards):
            self.workshop.write(self.path + b"/rows/shard-%d" % number, b"%d" % number * 5000)
        self.workshop.write(self.path + b"/config.json", b"{}")
        return self

    def single_file(self) -> "Scene":
        """Make the target one file; returns the scene."""
        self.workshop.write(self.path, b"weights" * 1000)
        return self

    def at(self, relative: bytes) -> ManagedPath:
        """Return another path below the root."""
        return ManagedPath(root=self.root.path, relative=relative)

    def observe(self, target: ManagedPath | None = None) -> Observation:
        """Look at the target."""
        return self.host.observe(self.root, target or self.target, catalog_id=CATALOG_ID, catalog_epoch=CATALOG_EPOCH)

    def identity(self) -> FileIdentity:
        """Return the target's identity, which must stand there."""
        found = self.host.identity(self.path)
        assert found is not None
        return found

    def note(self, target: ManagedPath | None = None) -> ManifestNote:
        """Return what is written beside the manifest."""
        seen = self.observe(target)
        identity = seen.identity or self.host.identity((target or self.target).absolute)
        assert identity is not None
        return ManifestNote(
            operation=self.operation,
            target=target or self.target,
            name="dump",
            kind="hidden_states",
            identity=identity,
            fingerprint=seen.tree.fingerprint if seen.tree else "",
            allocated_bytes=seen.tree.allocated_bytes if seen.tree else 0,
            root_id=self.root.root_id,
            catalog_id=CATALOG_ID,
            reason="superseded",
            actor="ada",
            evidence_json="[]",
            at=NOTED_AT,
        )

    def intend(self, target: ManagedPath | None = None, *, sibling: bool = False) -> str:
        """Write the intent of the operation."""
        return self.host.intend(self.root, self.note(target), sibling=sibling)

    def set_aside(self) -> "Scene":
        """Take the target all the way into quarantine; returns the scene."""
        self.intend()
        assert self.host.set_aside(self.root, self.operation) == "done"
        self.host.confirm(self.root, self.operation)
        return self

    def record(self) -> OperationRecord:
        """Return what `operations` says of the one operation."""
        (found,) = (record for record in self.host.operations(self.root) if record.operation == self.operation)
        return found

    @property
    def placed(self) -> bytes:
        """The absolute path of the bytes in quarantine."""
        return self.root.path + b"/" + self.record().placed


def scene(workshop: Workshop, name: bytes = b"root") -> Scene:
    """Make a new managed root in the workshop."""
    path = workshop.top + b"/" + name
    workshop.folder(path)
    identity = workshop.host.identity(path)
    assert identity is not None
    root = Root(
        root_id=str(uuid.uuid4()),
        name=name.decode(),
        host_id=1,
        path=path,
        filesystem_uuid=identity.filesystem_uuid,
        filesystem_type=workshop.host.usage(path).filesystem_type,
        inode=identity.inode,
    )
    workshop.host.write_marker(path, marker_of(root))
    return Scene(workshop, root)


def marker_of(root: Root, *, catalog_id: str = CATALOG_ID, catalog_epoch: int = CATALOG_EPOCH) -> Marker:
    """Return the marker that belongs to the root."""
    return Marker(
        root_id=root.root_id,
        name=root.name,
        catalog_id=catalog_id,
        catalog_epoch=catalog_epoch,
        filesystem_uuid=root.filesystem_uuid,
        inode=root.inode,
    )
