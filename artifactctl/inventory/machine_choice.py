"""Which machine a command means that names none.

What changes something, or would (`scan`, `reclaim`), means this machine when it has roots; when only one other machine
has any, that one; when several others have, the person has to say. What only looks at everything there is (`df`, `du`,
`doctor`, `report`, `metrics`, `verify --all`, `quarantine purge --expired`) means every machine that has roots.
"""

from collections.abc import Iterable, Sequence

from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import UsageError
from artifactctl.domain.ledger import KnownHost
from artifactctl.inventory.places import Here, machine_called

Machines = tuple[KnownHost | None, ...]
"""None is the machine on which the command was typed."""


def every_machine(reading: Reading | None, *, here: Here, only: Sequence[str] = ()) -> Machines:
    """Return the machines that have roots, or those called as in `only`; this one first, and alone where none has."""
    if only:
        return tuple(dict.fromkeys(machine_called(reading, name, here=here) for name in only))
    if reading is None:
        return (None,)
    return machines_of(reading, reading.roots(), here=here) or (None,)


def acting_machine(reading: Reading | None, *, here: Here, only: str = "") -> KnownHost | None:
    """Return the one machine that is meant where none is named; UsageError when it could be several."""
    machines = every_machine(reading, here=here, only=(only,) if only else ())
    if None in machines:
        return None
    if len(machines) > 1:
        names = ", ".join(machine.name for machine in machines if machine is not None)
        raise UsageError(
            f"no root is on this machine, and several others have some: {names}",
            remedy="say which one with --host, or name a root",
        )
    return machines[0]


def machines_of(reading: Reading, roots: Iterable[Root], *, here: Here) -> Machines:
    """Return the machines on which roots lie, each once: this one first, the others by name."""
    known = {host.host_id: host for host in reading.hosts_ever()}
    meant = {root.host_id: known[root.host_id] for root in roots}
    others = [host for host in meant.values() if not here.is_machine(host)]
    own: Machines = (None,) if len(others) < len(meant) else ()
    return (*own, *sorted(others, key=lambda host: host.name))


def machine_of_root(reading: Reading, root: Root, *, here: Here) -> KnownHost | None:
    """Return the machine on which a root lies."""
    return machines_of(reading, (root,), here=here)[0]
