"""The machine this runs on, as the catalog knows it."""

from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost


def known_machine(reading: Reading, identity: HostIdentity) -> KnownHost | None:
    """Return this machine's row, None when nothing here was ever registered."""
    return next((host for host in reading.hosts() if host.machine_id == identity.machine_id and not host.address), None)


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
