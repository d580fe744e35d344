"""Changes to machines, volumes and managed roots."""

from collections.abc import Sequence

from sqlalchemy import insert, select, update

from artifactctl.catalog import place_queries
from artifactctl.catalog.failures import NameTaken, StateChanged, UnknownObject
from artifactctl.catalog.mapping import to_host
from artifactctl.catalog.schema import host, root, volume
from artifactctl.catalog.schema_work import operation
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import Root
from artifactctl.domain.ledger import KnownHost, KnownVolume
from artifactctl.domain.operations import FINISHED
from artifactctl.domain.roles import Act

_OVER = tuple(sorted(event.value for event in FINISHED))


def add_host(
    writing: Transaction,
    name: str,
    *,
    machine_id: str,
    address: str,
    host_key: str,
    uses_sudo: bool,
    own_keys: Sequence[str],
) -> KnownHost:
    """Record a machine; to make another than the one at hand known takes a role."""
    if address:
        writing.require(Act.ADD_HOST, about=name)
    taken = next((known for known in place_queries.hosts_ever(writing.connection) if known.name == name), None)
    if taken is not None:
        what = "was a host named" if taken.forgotten_at else "is a host named"
        raise NameTaken(f"there {what} {name} already", remedy="give this one another name; `artifactctl host ls`")
    statement = insert(host).values(
        name=name,
        machine_id=machine_id,
        address=address,
        host_key=host_key,
        uses_sudo=uses_sudo,
        own_keys=list(own_keys),
        added_at=writing.now,
    )
    return to_host(writing.connection.execute(statement.returning(host)).one())


def note_own_keys(writing: Transaction, host_id: int, own_keys: Sequence[str]) -> KnownHost:
    """Record by which keys a machine's own sshd proves who it is."""
    changed = update(host).where(host.c.id == host_id).values(own_keys=list(own_keys))
    return to_host(writing.connection.execute(changed.returning(host)).one())


def give_address(writing: Transaction, host_id: int, *, address: str, host_key: str, uses_sudo: bool) -> KnownHost:
    """Record the way to a machine that opened the catalog itself until now; it takes the role that adding one takes."""
    writing.require(Act.ADD_HOST, about=str(host_id))
    changed = update(host).where(host.c.id == host_id, host.c.address == "")
    facts = {"address": address, "host_key": host_key, "uses_sudo": uses_sudo}
    return to_host(writing.connection.execute(changed.values(**facts).returning(host)).one())


def forget_host(writing: Transaction, host_id: int) -> None:
    """Mark a machine as forgotten; StateChanged while a root in use is on it."""
    writing.require(Act.ADD_HOST, about=str(host_id))
    roots = [known.name for known in place_queries.roots(writing.connection) if known.host_id == host_id]
    if roots:
        raise StateChanged(f"the host {host_id} has the root {roots[0]}", remedy=f"artifactctl root forget {roots[0]}")
    writing.connection.execute(update(host).where(host.c.id == host_id).values(forgotten_at=writing.now))


def remember_host(writing: Transaction, host_id: int, *, address: str, uses_sudo: bool) -> KnownHost:
    """Take a forgotten machine back, which is reached in this way now."""
    changed = update(host).where(host.c.id == host_id)
    facts = {"forgotten_at": None, "address": address, "uses_sudo": uses_sudo}
    return to_host(writing.connection.execute(changed.values(**facts).returning(host)).one())


def add_root(writing: Transaction, added: Root) -> Root:
    """Record a root, or take a forgotten one back under its old id."""
    writing.require(Act.CHANGE_ROOT, about=added.name)
    connection = writing.connection
    if place_queries.root(connection, added.root_id) is not None:
        raise NameTaken(f"the root {added.root_id} is managed already", remedy="artifactctl root ls")
    _refuse_taken_name(writing, added)
    if added.root_id in place_queries.roots_ever(connection):
        connection.execute(update(root).where(root.c.id == added.root_id).values(forgotten_at=None))
        return update_root(writing, added)
    connection.execute(insert(root).values(id=added.root_id, added_at=writing.now, **_facts(added)))
    return added


def update_root(writing: Transaction, changed: Root) -> Root:
    """Record what a root is now."""
    writing.require(Act.CHANGE_ROOT, about=changed.name)
    _refuse_taken_name(writing, changed)
    statement = update(root).where(root.c.id == changed.root_id, root.c.forgotten_at.is_(None))
    if not writing.connection.execute(statement.values(**_facts(changed))).rowcount:
        raise UnknownObject(f"there is no root {changed.root_id}", remedy="artifactctl root ls")
    return changed


def forget_root(writing: Transaction, root_id: str) -> None:
    """Mark a root as forgotten; its quarantine must be empty."""
    writing.require(Act.CHANGE_ROOT, about=root_id)
    unfinished = select(operation.c.id).where(operation.c.root_id == root_id, operation.c.state.not_in(_OVER))
    waiting = writing.connection.execute(unfinished).scalars().all()
    if waiting:
        raise StateChanged(
            f"the root {root_id} has {len(waiting)} unfinished operation(s), such as {waiting[0]}",
            remedy="artifactctl quarantine ls    (restore or purge them first)",
        )
    forgotten = update(root).where(root.c.id == root_id, root.c.forgotten_at.is_(None))
    if not writing.connection.execute(forgotten.values(forgotten_at=writing.now)).rowcount:
        raise UnknownObject(f"there is no root {root_id}", remedy="artifactctl root ls")


def record_volume(writing: Transaction, seen: KnownVolume) -> None:
    """Insert or replace what is known of a filesystem on a machine."""
    key = (volume.c.filesystem_uuid == seen.filesystem_uuid) & (volume.c.host_id == seen.host_id)
    facts = {
        "mount": seen.mount,
        "filesystem_type": seen.filesystem_type,
        "device": seen.device,
        "size_bytes": seen.size_bytes,
        "seen_at": seen.seen_at,
    }
    if not writing.connection.execute(update(volume).where(key).values(**facts)).rowcount:
        writing.connection.execute(
            insert(volume).values(filesystem_uuid=seen.filesystem_uuid, host_id=seen.host_id, **facts)
        )


def _facts(value: Root) -> dict[str, object]:
    return {
        "name": value.name,
        "host_id": value.host_id,
        "path": value.path,
        "filesystem_uuid": value.filesystem_uuid,
        "filesystem_type": value.filesystem_type,
        "inode": value.inode,
        "attestation": value.attestation,
    }


def _refuse_taken_name(writing: Transaction, wanted: Root) -> None:
    for known in place_queries.roots(writing.connection):
        if known.name == wanted.name and known.root_id != wanted.root_id:
            raise NameTaken(f"another root is named {wanted.name}", remedy="give this one another --name")
