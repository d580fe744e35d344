"""Machines as the catalog knows them, and the roots that lie on each."""

from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost


def is_machine(known: KnownHost, identity: HostIdentity) -> bool:
    """Whether a row is about this machine.

    One that is reached over the network is known by its host key and machine id together: a copied disk has the same
    machine id. The one that the program runs on is known by its machine id, and has no address.
    """
    if known.machine_id != identity.machine_id:
        return False
    return known.host_key == identity.host_key if identity.host_key else not known.address


def known_machine(reading: Reading, identity: HostIdentity) -> KnownHost | None:
    """Return the machine's row, None when nothing there was ever registered."""
    return next((known for known in reading.hosts() if is_machine(known, identity)), None)


def roots_here(reading: Reading, identity: HostIdentity) -> tuple[Root, ...]:
    """Return the managed roots of a machine."""
    known = known_machine(reading, identity)
    return tuple(root for root in reading.roots() if known is not None and root.host_id == known.host_id)


def roots_on_volume(reading: Reading, identity: HostIdentity, filesystem_uuid: str) -> tuple[Root, ...]:
    """Return the managed roots of a machine on one of its filesystems; a cloned disk elsewhere has the same UUID."""
    return tuple(root for root in roots_here(reading, identity) if root.filesystem_uuid == filesystem_uuid)


def machine_in(writing: Writing, identity: HostIdentity) -> KnownHost:
    """Return the machine's row; the one that the program runs on is added at the first change that needs it."""
    known = known_machine(writing, identity)
    if known is not None:
        return known
    if identity.host_key:
        raise UnknownObject(
            f"the catalog does not know the machine {identity.hostname}", remedy="artifactctl host add NAME ssh://..."
        )
    taken = {host.name for host in writing.hosts()}
    name = identity.hostname
    if name in taken:  # two machines of one name: the id tells them apart
        name = f"{identity.hostname}-{identity.machine_id[:8]}"
    return writing.add_host(name, machine_id=identity.machine_id)
