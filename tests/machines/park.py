"""A laptop whose catalog knows other machines, each of them one in memory: no network, every disturbance at will.

The machines are clones of each other on purpose: the same path, the same filesystem UUID, the same inode numbers. What
tells them apart is what has to tell real ones apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from artifactctl.catalog import Catalog, create_or_upgrade
from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from artifactctl.domain.artifacts import Artifact, ReplicaState, VerifyLevel
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import HostIdentity, ManagedPath
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.protocol import Host
from tests.fakes.machine import FakeMachine

DAY = timedelta(days=1)


@dataclass
class Park:
    """Commands are typed on `laptop`; `machines` are reached by name, unless they are in `unplugged`."""

    folder: Path
    laptop: FakeMachine = field(default_factory=FakeMachine)
    machines: dict[str, FakeMachine] = field(default_factory=dict)
    unplugged: set[str] = field(default_factory=set)
    connected: list[str] = field(default_factory=list)
    platform: str = "linux"

    def __post_init__(self) -> None:
        self.laptop.identity_of_host = HostIdentity(machine_id="laptop-id", hostname="laptop", boot_id="boot-1")
        _furnish(self.laptop)
        self.open().close()

    # --- arranging -----------------------------------------------------------------------------------------------

    def add(self, name: str, *, machine_id: str = "", host_key: str = "") -> FakeMachine:
        """Register a machine that answers at ssh://ada@NAME, with nothing but an empty /data."""
        machine = FakeMachine()
        own_id = machine_id or f"{name}-id"
        machine.identity_of_host = HostIdentity(machine_id=own_id, hostname="ubuntu", boot_id="boot-1")
        _furnish(machine)
        self.machines[name] = machine
        with self.catalog() as catalog, catalog.writing("ada@laptop", self.now()) as writing:
            key = host_key or f"SHA256:{name}"
            writing.add_host(name, machine_id=own_id, address=f"ssh://ada@{name}", host_key=key)
        return machine

    def stock(self, machine: FakeMachine, name: str, *, shards: int = 2) -> None:
        """Put a folder of shards below /data of a machine; a day passes everywhere."""
        machine.do.mkdir(b"/data/" + name.encode())
        for number in range(shards):
            machine.do.write(b"/data/%s/shard-%d" % (name.encode(), number), b"x" * (5000 + number))
        self.let_pass(DAY)

    def let_pass(self, duration: timedelta) -> None:
        """Time passes on every machine."""
        for machine in (self.laptop, *self.machines.values()):
            machine.clock.advance(duration)

    # --- acting --------------------------------------------------------------------------------------------------

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> Result:
        """Run a command on the laptop; nobody is at a terminal."""
        self.connected.clear()
        around = {"XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder)}
        surroundings = Surroundings(
            clock=self,
            make_host=lambda _: self.laptop,
            connect=lambda known, _: self._connect(known),
            environment={**around, **(environment or {})},
            working_directory=Path("/data"),
            platform=self.platform,
        )
        try:
            return CliRunner().invoke(program, list(words), obj=surroundings)
        finally:
            for machine in (self.laptop, *self.machines.values()):
                machine.locks.free_all()

    def must(self, *words: str) -> Result:
        """Run a command that has to succeed."""
        result = self.run(*words)
        assert result.exit_code == 0, (words, result.output)
        return result

    def _connect(self, known: KnownHost) -> Host:
        self.connected.append(known.name)
        if known.name in self.unplugged:
            raise HostFailure(f"{known.name} does not answer", remedy=f"artifactctl host check {known.name}")
        host: Any = self.machines[known.name]
        return host  # type: ignore[no-any-return]

    # --- looking -------------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The laptop's clock."""
        return self.laptop.clock.now

    def open(self) -> Catalog:
        return create_or_upgrade(self.folder / "state" / "artifactctl" / "catalog.db", now=self.now())

    def catalog(self) -> "_Opened":
        return _Opened(self)

    def known(self, name: str) -> Artifact:
        with self.catalog() as catalog, catalog.reading() as reading:
            found = reading.artifacts_named_ever(name)
        assert found, name
        return found[-1]

    def state(self, name: str) -> ReplicaState:
        (replica,) = self.known(name).replicas
        return replica.state

    def copy_to(self, name: str, machine: str, root: str) -> None:
        """Put the same bytes on another machine and let the catalog know them as a copy of the artifact."""
        there, artifact = self.machines[machine], self.known(name)
        relative = artifact.replicas[0].relative
        self.stock(there, relative.decode())
        self.must("register", f"{machine}:/data/{relative.decode()}", "--kind", artifact.kind.value)
        (copied,) = self.known(f"{root}/{relative.decode()}").replicas
        with self.catalog() as catalog, catalog.writing("ada@laptop", self.now()) as writing:
            writing.change_state(copied.replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.GONE)
            writing.add_replica(
                artifact.artifact_id,
                copied.root.root_id,
                copied.relative,
                is_directory=True,
                files=copied.files,
                apparent_bytes=copied.apparent_bytes,
                allocated_bytes=copied.allocated_bytes,
                member_digest=copied.member_digest,
                fingerprint=copied.fingerprint,
                observed_at=self.now(),
            )

    def verify(self, name: str) -> None:
        """Let every copy count as verified as it lies there now."""
        with self.catalog() as catalog:
            with catalog.reading() as reading:
                hosts = {known.host_id: known.name for known in reading.hosts()}
            with catalog.writing("ada@laptop", self.now()) as writing:
                for replica in self.known(name).replicas:
                    machine = self.machines.get(hosts[replica.root.host_id], self.laptop)
                    target = ManagedPath(root=replica.root.path, relative=replica.relative)
                    seen = machine.contents(replica.root, target)
                    writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, seen.fingerprint, ok=True)


@dataclass
class _Opened:
    park: Park

    def __enter__(self) -> Catalog:
        self._catalog = self.park.open()
        return self._catalog

    def __exit__(self, *exception: object) -> None:
        self._catalog.close()


def _furnish(machine: FakeMachine) -> None:
    machine.do.mkdir(b"/data")
    machine.do.mkdir(b"/etc")
    machine.do.write(b"/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/srv/ada:/bin/sh\n")
