"""Ground for the engine's tests: a machine in memory with one root, and a real catalog of what is on it."""

import shutil
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from artifactctl.catalog import Catalog, create_or_upgrade, open_catalog
from artifactctl.configuration.policy_files import shipped_default
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, Replica, ReplicaState, Root, VerifyLevel
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.results import OperationResult
from artifactctl.hosts.listings import members_in_order
from artifactctl.hosts.protocol import Marker
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim import applying
from artifactctl.reclaim.preparing import Wish, live_replica, prepare
from artifactctl.reclaim.quarantined import Quarantined, in_quarantine
from artifactctl.reclaim.workplace import Workplace
from tests.fakes.machine import FakeMachine

ROOT_PATH = b"/data"
DAY = timedelta(days=1)
DEFAULT = shipped_default()


@dataclass
class Ground:
    """One machine, one catalog, one operator."""

    folder: Path
    address: str = ""
    machine: FakeMachine = field(default_factory=FakeMachine)
    policy: Policy = DEFAULT
    said: list[str] = field(default_factory=list)
    operations: int = 0

    def __post_init__(self) -> None:
        self.machine.do.mkdir(ROOT_PATH)
        identity = self.machine.identity(ROOT_PATH)
        assert identity is not None
        self.root = Root(
            root_id="root-1",
            name="data",
            host_id=1,
            path=ROOT_PATH,
            filesystem_uuid=identity.filesystem_uuid,
            filesystem_type="ext4",
            inode=identity.inode,
        )
        self.address = self.address or str(self.folder / "catalog.db")
        self.catalog: Catalog = create_or_upgrade(self.address, now=self.now())
        with self.catalog.writing("ada@node-1", self.now()) as writing:
            host = writing.add_host("node-1", machine_id=self.machine.identify().machine_id)
            self.root = writing.add_root(replace(self.root, host_id=host.host_id))
        marker = Marker(
            root_id="root-1",
            name="data",
            catalog_id=self.catalog.lineage_id,
            catalog_epoch=self.catalog.epoch,
            filesystem_uuid=identity.filesystem_uuid,
            inode=identity.inode,
        )
        self.machine.write_marker(ROOT_PATH, marker)

    def now(self) -> datetime:
        return self.machine.clock.now

    def close(self) -> None:
        self.catalog.close()

    def reopen(self) -> None:
        """The program starts anew on the same machine and catalog."""
        self.catalog.close()
        self.machine.restart()
        self.catalog = open_catalog(self.address, now=self.now())

    def clone(self, folder: Path) -> "Ground":
        """Return an independent ground in the same state; this one's catalog is closed and opened again for it."""
        self.catalog.close()
        folder.mkdir()
        for file in filter(Path.is_file, self.folder.glob("catalog.db*")):  # the ballast beside it is a folder
            shutil.copy(file, folder / file.name)
        twin = copy(self)
        twin.folder, twin.machine, twin.said = folder, self.machine.copy(), []
        twin.address = str(folder / "catalog.db")
        self.catalog = open_catalog(self.folder / "catalog.db", now=self.now())
        twin.catalog = open_catalog(folder / "catalog.db", now=self.now())
        return twin

    @property
    def workplace(self) -> Workplace:
        return Workplace(
            catalog=self.catalog,
            host=self.machine,
            policy=self.policy,
            actor="ada@node-1",
            clock=self.now,
            new_operation=self._new_operation,
            say=self.said.append,
        )

    def _new_operation(self) -> str:
        self.operations += 1
        return f"op{self.operations}"

    # --- arranging -----------------------------------------------------------------------------------------------

    def artifact(
        self, name: str, *, kind: ArtifactKind = ArtifactKind.HIDDEN_STATES, shards: int = 2, **facts: Any
    ) -> Artifact:
        """Make a folder of shards on the machine and register it; a day passes."""
        path = ROOT_PATH + b"/" + name.encode()
        self.machine.do.mkdir(path)
        for number in range(shards):
            self.machine.do.write(path + b"/shard-%d" % number, b"x" * (5000 + number))
        return self.register(name, kind=kind, **facts)

    def register(self, name: str, *, kind: ArtifactKind, **facts: Any) -> Artifact:
        target = ManagedPath(root=ROOT_PATH, relative=name.encode())
        seen = self.machine.observe(self.root, target, catalog_id=self.catalog.lineage_id, catalog_epoch=1)
        assert seen.tree is not None
        members = [
            (path, letter, size, None)
            for path, letter, size in members_in_order(
                self.machine.walk(target.absolute), is_directory=seen.is_directory
            )
        ]
        with self.catalog.writing("ada@node-1", self.now()) as writing:
            artifact = writing.add_artifact(name, kind, **facts)
            writing.add_replica(
                artifact.artifact_id,
                "root-1",
                target.relative,
                is_directory=seen.is_directory,
                files=seen.tree.files,
                apparent_bytes=seen.tree.apparent_bytes,
                allocated_bytes=seen.tree.allocated_bytes,
                member_digest=seen.tree.member_digest,
                fingerprint=seen.tree.fingerprint,
                observed_at=self.now(),
            )
            writing.set_members(artifact.artifact_id, members)
        self.machine.clock.advance(DAY)
        return self.known(name)

    def verify(self, name: str) -> None:
        replica = self.known(name).replicas[0]
        target = ManagedPath(root=ROOT_PATH, relative=replica.relative)
        seen = self.machine.observe(self.root, target, catalog_id=self.catalog.lineage_id, catalog_epoch=1)
        assert seen.tree is not None
        with self.catalog.writing("ada@node-1", self.now()) as writing:
            writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, seen.tree.fingerprint, ok=True)

    def supersede(self, old: str, new: str) -> None:
        with self.catalog.writing("ada@node-1", self.now()) as writing:
            writing.supersede(self.known(old).artifact_id, self.known(new).artifact_id)

    def link(self, child: str, parent: str, role: LineageRole) -> None:
        with self.catalog.writing("ada@node-1", self.now()) as writing:
            writing.add_lineage(self.known(child).artifact_id, self.known(parent).artifact_id, role)

    # --- acting and looking --------------------------------------------------------------------------------------

    def known(self, name: str) -> Artifact:
        with self.catalog.reading() as reading:
            found = reading.artifacts_named_ever(name)
        assert found, name
        return found[-1]

    def replica(self, name: str) -> Replica:
        return self.known(name).replicas[0]

    def state(self, name: str) -> ReplicaState:
        return self.replica(name).state

    def plan(self, *names: str, **wish: Any) -> ReclaimPlan:
        chosen = tuple((self.known(name), live_replica(self.known(name))) for name in names)
        return prepare(self.workplace, Wish(chosen=chosen, **wish))

    def apply(self, plan: ReclaimPlan, **options: Any) -> OperationResult:
        return applying.apply_plan(self.workplace, plan, reason="old", **options)

    def quarantine(self, *names: str) -> OperationResult:
        return self.apply(self.plan(*names))

    def aside(self) -> tuple[Quarantined, ...]:
        with self.catalog.reading() as reading:
            return in_quarantine(reading)

    def purge(self) -> OperationResult:
        return applying.purge(self.workplace, self.aside(), reason="old")

    def restore(self, to: bytes | None = None) -> OperationResult:
        place = None if to is None else ManagedPath(root=ROOT_PATH, relative=to)
        return applying.restore(self.workplace, self.aside(), to=place, reason="changed my mind")

    def exists(self, name: str) -> bool:
        return self.machine.disk.exists(ROOT_PATH + b"/" + name.encode())

    def tree(self, name: str) -> dict[bytes, tuple[int, int]]:
        """Return every entry below the artifact: its inode and size."""
        return {
            listing.relative + b"/" + entry.name: (entry.inode, entry.size_bytes)
            for listing in self.machine.walk(ROOT_PATH + b"/" + name.encode())
            for entry in listing.entries
        }


def grounds(folder: Path, **options: Any) -> Iterator[Ground]:
    """Yield one ground and close it."""
    ground = Ground(folder=folder, **options)
    try:
        yield ground
    finally:
        ground.close()
