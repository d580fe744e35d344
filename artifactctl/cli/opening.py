"""Opening the catalog, and making it when a person agrees: `init` is implied by the first command that needs one."""

from typing import TYPE_CHECKING

from artifactctl.catalog import Catalog, CatalogMissing, CatalogOutdated
from artifactctl.cli.dialogue import ConfirmationNeeded
from artifactctl.domain.errors import UsageError
from artifactctl.inventory.starting import StartedCatalog, start_catalog

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring


def open_or_offer(wiring: "Wiring") -> Catalog:
    """Return the catalog; make or upgrade it after a confirmation, else the error says how to."""
    try:
        return wiring.open_existing()
    except (CatalogMissing, CatalogOutdated) as absent:
        question = _question(absent, wiring)
        try:
            wiring.dialogue.confirm(question)
        except ConfirmationNeeded as unanswered:
            raise UsageError(absent.message, remedy="run `artifactctl init` first, or add --yes") from unanswered
    return start(wiring).catalog


def start(wiring: "Wiring") -> StartedCatalog:
    """Make or upgrade the catalog, as `init` does."""
    started = start_catalog(wiring.location.location, acting=wiring.acting, doorkeeper=wiring.doorkeeper)
    wiring.closing(started.catalog)
    return started


def _question(absent: UsageError, wiring: "Wiring") -> str:
    what = "Upgrade it" if isinstance(absent, CatalogOutdated) else "Make one"
    return f"{absent.message} (named by {wiring.location.named_by}). {what}?"
