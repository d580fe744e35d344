"""What archiving works with: catalog, machines, clock, and somebody who listens."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Root
from artifactctl.hosts.copies import CopyingHost
from artifactctl.inventory.acting import Acting


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivingWork:
    """Everything a copy needs. `host` is this machine, `host_of` the machine of a root.

    `say` receives one sentence an event, `should_stop` is polled between two pieces, `progress` is told the bytes of
    each piece. `bandwidth_bytes` a second are read at most, None for as fast as it goes.
    """

    catalog: Catalog
    host: CopyingHost
    host_of: Callable[[Root], CopyingHost]
    actor: str
    clock: Callable[[], datetime]
    new_operation: Callable[[], str]
    say: Callable[[str], None] = field(default=lambda sentence: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)
    progress: Callable[[int], None] = field(default=lambda size_bytes: None)
    bandwidth_bytes: int | None = None
    elapsed_clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def acting(self) -> Acting:
        """Return who acts, where, and this very instant."""
        return Acting(actor=self.actor, host=self.host.identify().hostname, now=self.clock())
