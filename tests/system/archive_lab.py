"""Two machines behind sshd with a managed root each, and a laptop from which things are archived between them."""

import uuid
from collections.abc import Callable, Iterator
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
from artifactctl.catalog import Catalog, create_or_upgrade, open_catalog
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica, ReplicaState, Root
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.copies import CopyingHost, require_copying
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.pinning import stored_pin
from artifactctl.hosts.ssh.python import start_python
from artifactctl.hosts.wire.bootstrap import CODE
from artifactctl.hosts.wire.greeting import Manners
from artifactctl.inventory.fleet import Fleet
from artifactctl.inventory.places import Here
from artifactctl.inventory.registering import Statement, register
from artifactctl.inventory.roots import add_root
from artifactctl.report.archive import CopyMade
from tests.archiving.ground import plant
from tests.bench.machines import DATA, Machine, SshHome

ACTOR = "ada@laptop"
IMPATIENT = Manners(beat_seconds=0.5, silence_seconds=5.0)
LATER = timedelta(hours=1)
"""Everything happens later than the files were made, whose times are real."""


def seen(machine: Machine, *parts: str | bytes) -> bytes:
    """Return a path below the machine's root folder as it can be reached from here."""
    relative = b"/".join(part.encode() if isinstance(part, str) else part for part in parts)
    return b"/".join((b"/proc/%d/root" % machine._first().pid + bytes(DATA) + b"/root", relative)).rstrip(b"/")


@dataclass(kw_only=True)
class Lab:
    """`alpha` and `beta` have the roots of their names at /run/data/root, and `hidden` lies on alpha."""

    folder: Path
    ssh: SshHome
    machines: dict[str, Machine]
    catalog: Catalog
    said: list[str] = field(default_factory=list)
    own: LocalHost = field(default_factory=LocalHost)
    fleets: list[Fleet] = field(default_factory=list)

    @property
    def here(self) -> Here:
        return Here(directory=b"/", identify=self.own.identify)

    def now(self) -> datetime:
        return datetime.now(UTC) + LATER

    def fleet(self) -> Fleet:
        """Connect anew, as each command does."""
        made = Fleet(
            here=self.here, own=lambda: self.own, connect=self._connect, clock=self._clock, say=self.said.append
        )
        self.fleets.append(made)
        return made

    @contextmanager
    def host(self, name: str) -> Iterator[CopyingHost]:
        """Give a machine for as long as a command lasts."""
        fleet = self.fleet()
        try:
            yield require_copying(fleet.reach(self.machine(name)))
        finally:
            fleet.close()

    def machine(self, name: str) -> KnownHost:
        with self.catalog.reading() as reading:
            found = reading.host(name)
        assert found is not None
        return found

    def root(self, name: str) -> Root:
        with self.catalog.reading() as reading:
            found = reading.root(name)
        assert found is not None
        return found

    def known(self, name: str = "hidden") -> Artifact:
        with self.catalog.reading() as reading:
            found = reading.artifact(name)
        assert found is not None
        return found

    def replica(self, root: str, name: str = "hidden") -> Replica:
        return next(r for r in reversed(self.known(name).replicas) if r.root.name == root)

    def states(self, name: str = "hidden") -> dict[str, ReplicaState]:
        return {r.root.name: r.state for r in self.known(name).replicas}

    def work(
        self, fleet: Fleet | None = None, *, wrap: Callable[[Any], Any] = lambda host: host, **options: Any
    ) -> ArchivingWork:
        """Return what archiving works with; `wrap` stands between it and every machine."""
        machines = fleet or self.fleet()
        hosts: dict[str, CopyingHost] = {}

        def host_of(root: Root) -> CopyingHost:
            if root.root_id not in hosts:
                with self.catalog.reading() as reading:
                    hosts[root.root_id] = wrap(require_copying(machines.of_root(reading, root)))
            return hosts[root.root_id]

        return ArchivingWork(
            catalog=self.catalog,
            identity=self.own.identify,
            host_of=host_of,
            actor=ACTOR,
            clock=self.now,
            new_operation=lambda: f"copy-{uuid.uuid4().hex[:8]}",
            say=self.said.append,
            **options,
        )

    def archive(self, to: str, name: str = "hidden", **options: Any) -> CopyMade:
        """Archive as a command does: its machines are let go at the end, however that comes."""
        fleet, artifact = self.fleet(), self.known(name)
        try:
            work = self.work(fleet, **options)
            meant = target_of_word(self.catalog, to, here=self.here, reach=fleet.reach)
            replica = source_of(work, artifact, towards=meant.root)
            return archive_to_root(work, artifact, replica, destination_for(work, artifact, replica, meant))
        finally:
            fleet.close()

    def add(self, name: str, machine: str, relative: bytes = b"hidden") -> None:
        """Register what lies on a machine."""
        statement = Statement(kind=ArtifactKind.RESPONSE_SET, name=name)
        path = bytes(DATA) + b"/root/" + relative
        with self.host(machine) as host:
            register(host, self.catalog, path, statement, now=self.now(), actor=ACTOR)

    def actions(self, name: str = "hidden") -> list[tuple[str, str]]:
        with self.catalog.reading() as reading:
            events = audit.events(reading.connection, artifact=name)
            return [(str(event.entry.action), event.entry.host) for event in events]

    def open_again(self) -> Catalog:
        return open_catalog(self.folder / "catalog.db", now=self.now())

    def close(self) -> None:
        for fleet in self.fleets:
            fleet.close()
        self.catalog.close()

    def _clock(self) -> datetime:
        return datetime.now(UTC)

    def _connect(self, known: KnownHost) -> Host:
        destination = resolve(parse_address(known.address), environment=self.ssh.environment)
        pin = stored_pin(known.host_key, name=known.name)
        quick = timedelta(seconds=0.5), timedelta(seconds=3)
        connection = open_connection(
            destination, pin, environment=self.ssh.environment, interval=quick[0], patience=quick[1]
        )
        channel = start_python(connection, CODE)
        channel.when_closed(connection.close)
        return RemoteHost(channel, machine=known.name, manners=IMPATIENT)


@contextmanager
def laboratory(folder: Path, ssh: SshHome, made: dict[str, Machine]) -> Iterator[Lab]:
    """Make the machines known, add their roots and plant `hidden`."""
    catalog = create_or_upgrade(folder / "catalog.db", now=datetime.now(UTC))
    lab = Lab(folder=folder, ssh=ssh, machines=made, catalog=catalog)
    try:
        for name, machine in made.items():
            ssh.can_enter(machine)
            with catalog.writing(ACTOR, datetime.now(UTC)) as writing:
                writing.add_host(
                    name, machine_id=machine.machine_id, address=machine.address(), host_key=machine.public_key()
                )
            machine.inside("mkdir", f"{DATA}/root")
            with lab.host(name) as host:
                add_root(host, catalog, bytes(DATA) + b"/root", name=name, now=lab.now(), actor=ACTOR)
        plant(seen(made["alpha"], b"hidden"))
        lab.add("hidden", "alpha")
        yield lab
    finally:
        lab.close()
