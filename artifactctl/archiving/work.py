"""What archiving works with: catalog, machines, clock, and somebody who listens."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.hosts.copies import CopyingHost
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.clients import Clients
from artifactctl.inventory.fencing import Changer, FencedLock, right_to_change
from artifactctl.inventory.machines import is_machine
from artifactctl.report.archive import CopyPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivingWork:
    """Everything a copy needs. `identity` tells which machine it is asked for on, `host_of` gives that of a root.

    What is copied between two other machines passes through this one, in pieces, and stays nowhere on it.
    `say` receives one sentence an event, `should_stop` is polled between two pieces, `progress` is told the bytes of
    each piece. `bandwidth_bytes` a second are read at most, None for as fast as it goes. `clients` leads to the
    machines that mount the volume of a source as well.
    """

    catalog: Catalog
    identity: Callable[[], HostIdentity]
    host_of: Callable[[Root], CopyingHost]
    actor: str
    clock: Callable[[], datetime]
    new_operation: Callable[[], str]
    say: Callable[[str], None] = field(default=lambda sentence: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)
    progress: Callable[[int], None] = field(default=lambda size_bytes: None)
    bandwidth_bytes: int | None = None
    clients: Clients = field(default_factory=Clients)
    elapsed_clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def acting(self) -> Acting:
        """Return who acts, the machine where it is asked for, and this very instant."""
        return Acting(actor=self.actor, host=self.identity().hostname, now=self.clock())

    def acting_on(self, root: Root) -> Acting:
        """Return the same for what happens below a root, on its machine."""
        return Acting(actor=self.actor, host=self.host_of(root).identify().hostname, now=self.clock())

    def changing(self, root: Root) -> AbstractContextManager[FencedLock]:
        """Hold the right to change a root while something is begun, put in its place or taken away there.

        Not while bytes are written: that happens in a folder of the copy's own, and may take days.
        """
        changer = Changer(
            host=self.host_of(root), catalog=self.catalog, actor=self.actor, clock=self.clock, say=self.say
        )
        return right_to_change(changer, root)

    def place(self, root: Root, relative: bytes) -> CopyPlace:
        """Return a place below a root as it is told to people; its machine is not needed for that."""
        with self.catalog.reading() as reading:
            (known,) = [host for host in reading.hosts() if host.host_id == root.host_id]
        path = root.path.rstrip(b"/") + b"/" + relative if relative else root.path
        is_elsewhere = bool(known.address) or not is_machine(known, self.identity())
        return CopyPlace(path=path, host=known.name, is_elsewhere=is_elsewhere)
