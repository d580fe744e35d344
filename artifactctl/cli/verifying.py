"""Verifying what was named, or everything, on several machines at the same time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from artifactctl.cli.which_machine import Incomplete, every_machine_meant, machines_of_roots
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.places import split_host

if TYPE_CHECKING:
    from artifactctl.domain.ledger import KnownHost
    from artifactctl.domain.verification import Depth, VerifyResult
    from artifactctl.hosts.protocol import Host

Named = dict["KnownHost | None", list[str]]


def verify_each(
    wiring: Wiring,
    names: Sequence[str],
    answered: Incomplete,
    *,
    hosts: Sequence[str],
    depth: "Depth",
    advance: Callable[[int], None],
) -> "tuple[VerifyResult, ...]":
    """Return one result a copy; without names everything is verified that has a living copy."""
    from artifactctl.inventory import verifying

    named = _by_machine(wiring, names, hosts) if names else None
    machines = every_machine_meant(wiring, hosts) if named is None else tuple(named)

    def verify(host: "Host", chosen: Sequence[str] | None) -> "tuple[VerifyResult, ...]":
        return tuple(
            verifying.verify_named(
                host,
                wiring.catalog,
                names=verifying.names_here(host, wiring.catalog) if chosen is None else chosen,
                here=wiring.here,
                now=wiring.now(),
                actor=wiring.actor,
                depth=depth,
                progress=advance,
                clients=wiring.clients,
            )
        )

    asked = [(machine, partial(verify, chosen=None if named is None else named[machine])) for machine in machines]
    found = answered.answers(wiring.fleet.each_its_own(asked), of=len(machines))
    return tuple(result for results in found for result in results)


def _by_machine(wiring: Wiring, words: Sequence[str], hosts: Sequence[str]) -> Named:
    """Return the names to verify on each machine: those of the living copies, or the one that a path is on."""
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.inventory.places import place_of
    from artifactctl.inventory.verifying import VERIFIABLE

    wanted = every_machine_meant(wiring, hosts) if hosts else None
    named: Named = {}
    with wiring.catalog.reading() as reading:
        for word in words:
            artifact = find_artifact(reading, word, here=wiring.here)
            machines = machines_of_roots(wiring, [r.root for r in artifact.replicas if r.state in VERIFIABLE])
            if word != artifact.name or split_host(word)[0]:
                machines = (place_of(reading, word, here=wiring.here).machine,)
            chosen = [m for m in machines if wanted is None or m in wanted] or [*(wanted or (None,))]
            for machine in chosen:
                named.setdefault(machine, []).append(artifact.name)
    return named
