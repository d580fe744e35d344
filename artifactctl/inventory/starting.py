"""Making a catalog, or bringing an old one to this version: the first entry of its audit chain says so."""

from dataclasses import dataclass
from enum import StrEnum

from artifactctl import audit
from artifactctl.catalog import Catalog, CatalogMissing, CatalogOutdated, Doorkeeper, create_or_upgrade, open_catalog
from artifactctl.domain.audit import AuditAction
from artifactctl.inventory.acting import Acting


class Start(StrEnum):
    """What had to be done."""

    CREATED = "created"
    UPGRADED = "upgraded"
    UNCHANGED = "unchanged"


_TOLD = {Start.CREATED: AuditAction.CATALOG_CREATE, Start.UPGRADED: AuditAction.CATALOG_UPGRADE}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCatalog:
    """An open catalog and what was done to it."""

    catalog: Catalog
    start: Start


def start_catalog(location: str, *, acting: Acting, doorkeeper: Doorkeeper) -> StartedCatalog:
    """Return the catalog at a path or URL, made or upgraded where that was needed."""
    try:
        catalog = open_catalog(location, now=acting.now, doorkeeper=doorkeeper)
        return StartedCatalog(catalog=catalog, start=Start.UNCHANGED)
    except CatalogMissing:
        start = Start.CREATED
    except CatalogOutdated:
        start = Start.UPGRADED
    catalog = create_or_upgrade(location, now=acting.now, doorkeeper=doorkeeper)
    with catalog.writing(acting.actor, acting.now) as writing:
        entry = acting.entry(_TOLD[start], evidence={"lineage": catalog.lineage_id, "epoch": catalog.epoch})
        audit.append(writing.connection, entry)
    return StartedCatalog(catalog=catalog, start=start)
