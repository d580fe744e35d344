"""A change of holds is told to the roots of every machine on which the artifact has a copy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from artifactctl.cli.which_machine import machines_of_roots
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.domain.artifacts import Artifact
    from artifactctl.hosts.protocol import Host


@contextmanager
def told_everywhere(wiring: Wiring, artifact: "Artifact") -> "Iterator[Host]":
    """Yield the first of its machines, on which the hold is changed; the roots of the others are told afterwards.

    All are asked before anything changes: one that does not answer, or whose root cannot take the change, refuses it.
    """
    from artifactctl.inventory.holding import mirror_holds, require_holds_writable, roots_of

    machines = machines_of_roots(wiring, roots_of(artifact)) or (None,)
    hosts = [wiring.fleet.reach(machine) for machine in machines]
    for host in hosts[1:]:
        require_holds_writable(wiring.catalog, host, artifact)
    yield hosts[0]
    for host in hosts[1:]:
        mirror_holds(wiring.catalog, host, roots_of(artifact))
