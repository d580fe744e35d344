"""A small real world for the commands: a root with real files, and a catalog that knows them."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from artifactctl.catalog import Catalog, Writing, create_or_upgrade
from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings, account_of_this_process
from artifactctl.domain.accounts import Account
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, Root, RunState, VerifyLevel
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host, Marker
from artifactctl.inventory.machines import machine_in
from tests.bench.clocks import FixedClock

MIB = 2**20


@dataclass(slots=True)
class Shop:
    """Runs commands in-process against one catalog, one machine and one clock, as one account after the other."""

    folder: Path
    host: Host = field(default_factory=LocalHost)
    clock: FixedClock = field(default_factory=FixedClock)
    account: Account | None = None
    """Who runs the commands; None is whoever runs the tests."""

    @property
    def location(self) -> Path:
        """Where the catalog is."""
        return self.folder / "state" / "artifactctl" / "catalog.db"

    @property
    def volume(self) -> Path:
        """The folder that the root manages."""
        return self.folder / "volume"

    def run(self, *words: str, environment: dict[str, str] | None = None) -> Result:
        """Run a command; nobody is at a terminal."""
        surroundings = Surroundings(
            clock=self.clock,
            make_host=lambda _: self.host,
            environment={"XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder), **(environment or {})},
            working_directory=self.volume,
            ask_account=account_of_this_process if self.account is None else lambda *_: self.account,
        )
        return CliRunner().invoke(program, list(words), obj=surroundings)

    def run_as(self, account: Account, *words: str) -> Result:
        """Run a command as somebody else."""
        return replace(self, account=account).run(*words)

    def open(self) -> Catalog:
        """Open (and make) the catalog; the caller closes it."""
        return create_or_upgrade(self.location, now=self.clock.now())

    def stock(self) -> None:
        """Make the root with a corpus, two generations of hidden states, a map and a checkpoint, and register them."""
        root = self._root()
        catalog = self.open()
        try:
            with catalog.writing("arranger@test", self.clock.now()) as writing:
                writing.add_root(self._known(writing, root))
                made = {name: self._artifact(writing, root, name, kind, **facts) for name, kind, facts in WORLD}
                self._relate(writing, made)
        finally:
            catalog.close()

    def _root(self) -> Root:
        self.volume.mkdir(exist_ok=True)
        path = bytes(self.volume)
        identity = self.host.identity(path)
        assert identity is not None
        usage = self.host.usage(path)
        return Root(
            root_id="root-1",
            name="scratch",
            host_id=0,
            path=path,
            filesystem_uuid=usage.filesystem_uuid,
            filesystem_type=usage.filesystem_type,
            inode=identity.inode,
        )

    def _known(self, writing: Writing, root: Root) -> Root:
        marker = Marker(
            root_id=root.root_id,
            name=root.name,
            catalog_id=writing.connection.exec_driver_sql("select lineage_id from catalog_identity").scalar_one(),
            catalog_epoch=1,
            filesystem_uuid=root.filesystem_uuid,
            inode=root.inode,
        )
        self.host.write_marker(root.path, marker)
        return replace(root, host_id=machine_in(writing, self.host.identify()).host_id)

    def _artifact(
        self, writing: Writing, root: Root, name: str, kind: ArtifactKind, *, mib: int, **facts: Any
    ) -> Artifact:
        folder = self.volume / name
        folder.mkdir(parents=True)
        (folder / "data.bin").write_bytes(b"x" * (mib * MIB))
        verified = facts.pop("verified", False)
        artifact = writing.add_artifact(f"scratch/{name}", kind, **facts)
        replica = writing.add_replica(
            artifact.artifact_id,
            root.root_id,
            name.encode(),
            is_directory=True,
            files=1,
            apparent_bytes=mib * MIB,
            allocated_bytes=mib * MIB,
            member_digest="m",
            fingerprint=f"print-{name}",
            observed_at=self.clock.now(),
        )
        if verified:
            writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, f"print-{name}", ok=True)
        return artifact

    def _relate(self, writing: Writing, made: dict[str, Artifact]) -> None:
        keys = {name: artifact.artifact_id for name, artifact in made.items()}
        writing.add_lineage(keys["hs-old"], keys["corpus"], LineageRole.EXTRACTED_FROM)
        writing.add_lineage(keys["hs-new"], keys["corpus"], LineageRole.EXTRACTED_FROM)
        writing.add_lineage(keys["checkpoint"], keys["hs-old"], LineageRole.TRAINED_ON)
        writing.add_lineage(keys["checkpoint"], keys["map"], LineageRole.MAPPED_WITH)
        writing.supersede(keys["hs-old"], keys["hs-new"])
        writing.add_run(
            "extraction",
            state=RunState.SUCCEEDED,
            duration_seconds=timedelta(hours=19).total_seconds(),
            cost_gpu_hours=152.0,
            inputs=(keys["corpus"],),
            outputs=(keys["hs-old"],),
        )


WORLD: tuple[tuple[str, ArtifactKind, dict[str, Any]], ...] = (
    ("corpus", ArtifactKind.MERGED_CORPUS, {"mib": 1, "tokens": 87_800_000, "records": 37_312}),
    ("hs-old", ArtifactKind.HIDDEN_STATES, {"mib": 3, "tokens": 23_070_000, "verified": True}),
    ("hs-new", ArtifactKind.HIDDEN_STATES, {"mib": 2, "tokens": 87_800_000, "verified": True}),
    ("map", ArtifactKind.VOCAB_MAP, {"mib": 1}),
    ("checkpoint", ArtifactKind.CHECKPOINT, {"mib": 1, "verified": True}),
)
