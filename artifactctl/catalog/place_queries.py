"""Questions about machines, volumes and managed roots."""

from sqlalchemy import ColumnElement, Connection, or_, select

from artifactctl.catalog.mapping import to_host, to_root, to_volume
from artifactctl.catalog.schema import host as host_table
from artifactctl.catalog.schema import root as root_table
from artifactctl.catalog.schema import volume
from artifactctl.domain.artifacts import Root
from artifactctl.domain.ledger import KnownHost, KnownVolume

_in_use = root_table.c.forgotten_at.is_(None)


def hosts(connection: Connection) -> tuple[KnownHost, ...]:
    """Return the machines that are worked with, by name."""
    return tuple(known for known in hosts_ever(connection) if known.forgotten_at is None)


def hosts_ever(connection: Connection) -> tuple[KnownHost, ...]:
    """Return every machine by name, the forgotten ones too: what was done on them names them."""
    return tuple(to_host(row) for row in connection.execute(select(host_table).order_by(host_table.c.name)))


def host(connection: Connection, name_or_id: str | int) -> KnownHost | None:
    """Return a machine by its number, or one that is worked with by its name."""
    by_number = isinstance(name_or_id, int)
    key = host_table.c.id == name_or_id if by_number else host_table.c.name == name_or_id
    row = connection.execute(select(host_table).where(key)).one_or_none()
    return None if row is None or (not by_number and row.forgotten_at is not None) else to_host(row)


def roots(connection: Connection) -> tuple[Root, ...]:
    """Return the roots in use, by name."""
    return _roots(connection, _in_use)


def roots_on(connection: Connection, filesystem_uuid: str) -> tuple[Root, ...]:
    """Return the roots in use on one filesystem, by name."""
    return _roots(connection, _in_use & (root_table.c.filesystem_uuid == filesystem_uuid))


def root(connection: Connection, name_or_id: str) -> Root | None:
    """Return one root in use by its id or name; the id counts first, since it is written on disk."""
    found = _roots(connection, _in_use & or_(root_table.c.id == name_or_id, root_table.c.name == name_or_id))
    return min(found, key=lambda item: item.root_id != name_or_id, default=None)


def roots_ever(connection: Connection) -> dict[str, Root]:
    """Return every root by id, the forgotten ones too: tombstones lie in them."""
    return {row.id: to_root(row) for row in connection.execute(select(root_table))}


def volumes(connection: Connection) -> tuple[KnownVolume, ...]:
    """Return the volumes as last seen."""
    statement = select(volume).order_by(volume.c.host_id, volume.c.mount)
    return tuple(to_volume(row) for row in connection.execute(statement))


def _roots(connection: Connection, condition: ColumnElement[bool]) -> tuple[Root, ...]:
    statement = select(root_table).where(condition).order_by(root_table.c.name)
    return tuple(to_root(row) for row in connection.execute(statement))
