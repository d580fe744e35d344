"""Machines as the catalog knows them, and the roots that lie on each."""

from dataclasses import replace

from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost


def is_machine(known: KnownHost, identity: HostIdentity) -> bool:
    """Whether a row is about this machine.

    One that is reached over the network is known by its host key and machine id together: a copied disk has the same
    machine id. The one that the program runs on is known by its machine id where it has no address, and else, since
    others reach it over ssh, by one of its sshd's own keys as well.
    """
    return identity.has(known.machine_id, known.host_key)


def known_machine(reading: Reading, identity: HostIdentity) -> KnownHost | None:
    """Return the row of a machine, first one by which others reach it; None when nothing there was ever registered."""
    mine = [known for known in reading.hosts() if is_machine(known, identity)]
    return min(mine, key=lambda known: not known.address, default=None)


def roots_here(reading: Reading, identity: HostIdentity) -> tuple[Root, ...]:
    """Return the managed roots of a machine."""
    rows = {known.host_id for known in reading.hosts() if is_machine(known, identity)}
    return tuple(root for root in reading.roots() if root.host_id in rows)


def as_others_know_it(reading: Reading, identity: HostIdentity) -> HostIdentity:
    """Return a machine by the name and key by which others reach it, as it says itself where nobody does.

    So a plan is bound to the same machine whether it is made on it or from elsewhere.
    """
    known = known_machine(reading, identity)
    if known is None or not known.address:
        return identity
    return replace(identity, hostname=known.name, host_key=known.host_key)


def roots_on_volume(reading: Reading, identity: HostIdentity, filesystem_uuid: str) -> tuple[Root, ...]:
    """Return the managed roots of a machine on one of its filesystems; a cloned disk elsewhere has the same UUID."""
    return tuple(root for root in roots_here(reading, identity) if root.filesystem_uuid == filesystem_uuid)


def machine_in(writing: Writing, identity: HostIdentity) -> KnownHost:
    """Return the machine's row; the one that the program runs on is added at the first change that needs it."""
    known = known_machine(writing, identity)
    if known is not None:
        says_more = not known.address and not identity.host_key and identity.own_keys
        if says_more and known.own_keys != identity.own_keys:
            return writing.note_own_keys(known.host_id, identity.own_keys)
        return known
    forgotten = [each for each in writing.hosts_ever() if each.forgotten_at and is_machine(each, identity)]
    if forgotten:
        gone = forgotten[0]
        return writing.remember_host(gone.host_id, address=gone.address, uses_sudo=gone.uses_sudo)
    if identity.host_key:
        raise UnknownObject(
            f"the catalog does not know the machine {identity.hostname}", remedy="artifactctl host add NAME ssh://..."
        )
    taken = {host.name for host in writing.hosts_ever()}
    name = identity.hostname
    if name in taken:  # two machines of one name: the id tells them apart
        name = f"{identity.hostname}-{identity.machine_id[:8]}"
    return writing.add_host(name, machine_id=identity.machine_id, own_keys=identity.own_keys)
