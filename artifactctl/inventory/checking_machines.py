"""How a machine that is reached over ssh is: the one it was, with what is needed there."""

from collections.abc import Callable
from datetime import datetime, timedelta

from artifactctl.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import ArtifactctlError, UsageError
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.connecting import reach
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.facts import MachineFacts, ask_facts
from artifactctl.inventory.introducing import Way
from artifactctl.report.machines import Checkup, RootThere

SKEW_TOLERATED = timedelta(seconds=60)
ROUND_TRIPS = 3


def check_machine(catalog: Catalog, name: str, *, way: Way, clock: Callable[[], datetime]) -> Checkup:
    """Return how a machine is. What keeps it from being reached is part of the answer; UnknownObject for no machine."""
    with catalog.reading() as reading:
        known = reading.host(name)
        roots = tuple(root for root in reading.roots() if known is not None and root.host_id == known.host_id)
    if known is None:
        raise UnknownObject(f"there is no host named `{name}`", remedy="`artifactctl host ls` lists them")
    if not known.address:
        raise UsageError(
            f"{name} is the machine that the catalog was made on", remedy="`artifactctl doctor` looks at it"
        )
    try:
        connection = reach(known, environment=way.environment, ask_passphrase=way.ask_passphrase)
    except ArtifactctlError as failure:
        return Checkup(known=known, reachable=False, problems=((failure.message, failure.remedy),))
    try:
        return _examined(connection, known, roots, clock)
    except ArtifactctlError as failure:
        return Checkup(known=known, reachable=True, problems=((failure.message, failure.remedy),))
    finally:
        connection.close()


def _examined(
    connection: Connection, known: KnownHost, roots: tuple[Root, ...], clock: Callable[[], datetime]
) -> Checkup:
    latencies = [seconds for _ in range(ROUND_TRIPS) if (seconds := connection.round_trip_seconds()) is not None]
    before = clock()
    facts = ask_facts(connection, sudo=known.uses_sudo, roots=tuple(root.path for root in roots))
    after = clock()
    there = tuple(RootThere(root=root, is_marked=root.path in facts.markers) for root in roots)
    skew, unsure = facts.clock - (before + (after - before) / 2), (after - before) / 2
    return Checkup(
        known=known,
        reachable=True,
        latency_seconds=min(latencies, default=None),
        hostname=facts.hostname,
        system=facts.system,
        machine_id=facts.machine_id,
        python=facts.python,
        python_version=facts.python_version,
        is_root=facts.user_id == 0 or (known.uses_sudo and not facts.sudo_problem and bool(facts.python)),
        clock_skew=skew,
        clock_uncertainty=unsure,
        roots=there,
        problems=tuple(_problems(facts, known, there, skew=skew, unsure=unsure)),
    )


def _problems(
    facts: MachineFacts, known: KnownHost, roots: tuple[RootThere, ...], *, skew: timedelta, unsure: timedelta
) -> list[tuple[str, str]]:
    found = []
    if facts.machine_id != known.machine_id:
        found.append(
            (
                f"it is another machine: its machine id is {facts.machine_id or 'none'}, and {known.name} has "
                f"{known.machine_id}",
                "a reinstalled machine is a new one: add it under another name",
            )
        )
    if facts.system != "Linux":
        found.append((f"it runs {facts.system}", "artifactctl manages storage on Linux only"))
    if not facts.python:
        found.append(("it has no Python 3.8 or newer", "install python3 there; until then only df and du are answered"))
    if facts.sudo_problem:
        found.append(
            (f"sudo does not run Python there: {facts.sudo_problem}", "`artifactctl host add --help` says how")
        )
    if abs(skew) - unsure > SKEW_TOLERATED:
        found.append((f"its clock is off by {skew.total_seconds():+.0f} seconds", "set the clocks by NTP"))
    found += [
        (f"the root {each.root.name} has no marker there", f"artifactctl scan {each.root.name}")
        for each in roots
        if not each.is_marked
    ]
    return found
