"""What the words of `scan` mean, machine by machine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from artifactctl.cli.which_machine import machines_of_roots
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import UsageError
from artifactctl.domain.places import split_host

if TYPE_CHECKING:
    from artifactctl.catalog import Reading
    from artifactctl.domain.ledger import KnownHost


@dataclass(slots=True, kw_only=True)
class ScanWords:
    """For one machine (None: this one): root names and absolute paths, and the artifacts whose drift is accepted."""

    machine: "KnownHost | None"
    words: list[bytes] = field(default_factory=list)
    accept: list[str] = field(default_factory=list)


def scans_meant(
    wiring: Wiring, words: Sequence[str], accept: Sequence[str], hosts: Sequence[str]
) -> tuple[ScanWords, ...]:
    """Return what to scan on which machine; without words and --host it is the one machine that `scan` means."""
    from artifactctl.inventory.finding import find_artifacts
    from artifactctl.inventory.known import AT_ITS_PATH
    from artifactctl.inventory.machine_choice import acting_machine, every_machine
    from artifactctl.reclaim.survey import target_of

    found: dict[KnownHost | None, ScanWords] = {}

    def on(machine: "KnownHost | None") -> ScanWords:
        return found.setdefault(machine, ScanWords(machine=machine))

    with wiring.catalog.reading() as reading:
        for word in words:
            machine, meant = _meant(wiring, reading, word, hosts)
            on(machine).words.append(meant)
        if not words and hosts:
            for machine in every_machine(reading, here=wiring.here, only=hosts):
                on(machine)
        elif not words:
            on(acting_machine(reading, here=wiring.here))
        whole = frozenset(found) if not words else frozenset()
        for artifact in find_artifacts(reading, accept, here=wiring.here):
            for replica in artifact.replicas:
                if replica.state not in AT_ITS_PATH:
                    continue
                machine = machines_of_roots(wiring, [replica.root])[0]
                on(machine).accept.append(artifact.name)
                if machine not in whole:
                    on(machine).words.append(target_of(replica).absolute)
    return tuple(found.values())


def _meant(wiring: Wiring, reading: "Reading", word: str, hosts: Sequence[str]) -> "tuple[KnownHost | None, bytes]":
    """Return (machine, root name or absolute path) of one word."""
    from artifactctl.inventory.places import place_of

    if len(hosts) > 1:
        raise UsageError("several --host and a place", remedy="write each place as HOST:PATH")
    root = reading.root(word) if word and not split_host(word)[0] else None
    if root is not None:
        return machines_of_roots(wiring, [root])[0], os.fsencode(root.name)
    if not word:
        return None, b""  # refused where words become targets
    typed = f"{hosts[0]}:{word}" if hosts and not split_host(word)[0] else word
    place = place_of(reading, typed, here=wiring.here)
    return place.machine, place.path
