"""The machine this runs on, as the catalog knows it."""

from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost


def known_machine(reading: Reading, identity: HostIdentity) -> KnownHost | None:
    """Return this machine's row, None when nothing here was ever registered.

    One that is reached over the network is another machine even if a copied disk gave it the same machine id.
    """
    return next((host for host in reading.hosts() if host.machine_id == identity.machine_id and not host.address), None)


def roots_here(reading: Reading, identity: HostIdentity) -> tuple[Root, ...]:
    """Return the managed roots of this machine."""
    known = known_machine(reading, identity)
    return tuple(root for root in reading.roots() if known is not None and root.host_id == known.host_id)


def this_machine(writing: Writing, identity: HostIdentity) -> KnownHost:
    """Return this machine's row, adding it at the first change that needs it."""
    known = known_machine(writing, identity)
    if known is not None:
        return known
    taken = {host.name for host in writing.hosts()}
    name = identity.hostname
    if name in taken:  # two machines of one name: the id tells them apart
        name = f"{identity.hostname}-{identity.machine_id[:8]}"
    return writing.add_host(name, machine_id=identity.machine_id)
