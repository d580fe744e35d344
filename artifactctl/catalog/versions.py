"""The versions of the catalog's schema that this program knows, oldest first.

Opening a catalog compares one row with this list. Why not ask Alembic: importing it takes longer than everything else
that a short command does. A test compares the list with the migrations that ship.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, column, inspect, select, table

from artifactctl.catalog.failures import CatalogMissing, CatalogOutdated, CatalogTooNew, NotACatalog
from artifactctl.catalog.schema import catalog_identity

KNOWN = ("0001", "0002", "0003", "0004", "0005", "0008", "0009", "0010", "0011")
CURRENT = KNOWN[-1]

_version = table("alembic_version", column("version_num"))


def stored_version(connection: Connection) -> str | None:
    """Return the version of the catalog in this database, None when the database is empty.

    NotACatalog when it holds something else.
    """
    names = set(inspect(connection).get_table_names())
    if not names:
        return None
    if _version.name not in names or catalog_identity.name not in names:
        raise NotACatalog("the database holds tables of something else", remedy="name another with --catalog")
    return version_number(connection)


def version_number(connection: Connection) -> str | None:
    """Return the version of what is known to be a catalog."""
    return connection.execute(select(_version.c.version_num)).scalar_one_or_none()


def require_current(found: str | None, shown: str, *, known: Sequence[str] = KNOWN) -> None:
    """Raise unless a catalog of version `found` can be used as it is by a program that knows `known`."""
    if found is None:
        raise CatalogMissing(f"there is no catalog at {shown}", remedy="artifactctl init")
    if found in known[:-1]:
        raise CatalogOutdated(
            f"the catalog {shown} has version {found}, this artifactctl uses {known[-1]}",
            remedy="artifactctl init    (upgrades it in place)",
        )
    refuse_newer(found, shown, known=known)


def refuse_newer(found: str, shown: str, *, known: Sequence[str] = KNOWN) -> None:
    """Raise CatalogTooNew for a version that is not in the list."""
    if found not in known:
        raise CatalogTooNew(
            f"the catalog {shown} has version {found}; this artifactctl knows versions up to {known[-1]}",
            remedy="install the artifactctl that made it, or a newer one: pip install --upgrade artifactctl",
        )
