"""Changes to which catalog this is: it was written to, a backup took its place, it moved, a person confirmed it."""

from datetime import datetime

from sqlalchemy import Connection, case, literal, select, update

from artifactctl.catalog import versions
from artifactctl.catalog.columns import Instant
from artifactctl.catalog.failures import CatalogMoved, StateChanged
from artifactctl.catalog.schema import catalog_identity
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.roles import Act


def note_change(connection: Connection, now: datetime) -> None:
    """Raise the revision and move the latest instant of a write forward, never backward."""
    latest = catalog_identity.c.written_at
    instant = literal(now, Instant)
    connection.execute(
        update(catalog_identity).values(
            revision=catalog_identity.c.revision + 1, written_at=case((latest < instant, instant), else_=latest)
        )
    )


def require_fit(connection: Connection, shown: str) -> None:
    """Raise unless the catalog takes changes of this program: it may have moved, or been upgraded, since it was opened.

    Asked within each write transaction, since on a server others upgrade and move it while we are at work.
    """
    versions.require_current(versions.version_number(connection), shown)
    moved_to: str | None = connection.execute(select(catalog_identity.c.moved_to)).scalar_one()
    if moved_to:
        raise CatalogMoved(
            f"the catalog {shown} moved to {moved_to} and takes no more changes here",
            remedy=f"artifactctl --catalog {moved_to}, or set ARTIFACTCTL_CATALOG to it",
        )


def move(writing: Transaction, to: str) -> None:
    """Record where the catalog went; this transaction is the last one that changes anything here."""
    writing.require(Act.REPLACE_CATALOG, about=to)
    writing.connection.execute(update(catalog_identity).values(moved_to=to))


def raise_epoch(writing: Transaction, epoch: int) -> None:
    """Set a higher epoch and take the confirmation away; a catalog that had moved is here again."""
    writing.require(Act.CONFIRM_CATALOG, about=f"epoch {epoch}")
    known = writing.connection.execute(select(catalog_identity.c.epoch)).scalar_one()
    if epoch <= known:
        raise StateChanged(
            f"the catalog is at epoch {known} already, which {epoch} does not raise", remedy="artifactctl doctor"
        )
    writing.connection.execute(update(catalog_identity).values(epoch=epoch, lineage_confirmed_at=None, moved_to=None))


def confirm_lineage(writing: Transaction) -> None:
    """Record that a person stands behind this catalog."""
    writing.require(Act.CONFIRM_CATALOG)
    writing.connection.execute(update(catalog_identity).values(lineage_confirmed_at=writing.now))
