"""Changes to which catalog this is: it was written to, a backup took its place, a person confirmed it."""

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, case, literal, select, update

from artifactctl.catalog.columns import Instant
from artifactctl.catalog.failures import StateChanged
from artifactctl.catalog.schema import catalog_identity
from artifactctl.domain.roles import Act

if TYPE_CHECKING:
    from artifactctl.catalog.writing import Writing


def note_change(connection: Connection, now: datetime) -> None:
    """Raise the revision and move the latest instant of a write forward, never backward."""
    latest = catalog_identity.c.written_at
    instant = literal(now, Instant)
    connection.execute(
        update(catalog_identity).values(
            revision=catalog_identity.c.revision + 1, written_at=case((latest < instant, instant), else_=latest)
        )
    )


def raise_epoch(writing: "Writing", epoch: int) -> None:
    """Set a higher epoch and take the confirmation away."""
    writing.require(Act.CONFIRM_CATALOG, about=f"epoch {epoch}")
    known = writing.connection.execute(select(catalog_identity.c.epoch)).scalar_one()
    if epoch <= known:
        raise StateChanged(
            f"the catalog is at epoch {known} already, which {epoch} does not raise", remedy="artifactctl doctor"
        )
    writing.connection.execute(update(catalog_identity).values(epoch=epoch, lineage_confirmed_at=None))


def confirm_lineage(writing: "Writing") -> None:
    """Record that a person stands behind this catalog."""
    writing.require(Act.CONFIRM_CATALOG)
    writing.connection.execute(update(catalog_identity).values(lineage_confirmed_at=writing.now))
