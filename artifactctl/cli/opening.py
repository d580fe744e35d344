"""Opening the catalog, and making it when a person agrees: `init` is implied by the first command that needs one."""

from collections.abc import Callable

from artifactctl.catalog import Catalog, CatalogMissing, CatalogOutdated
from artifactctl.cli.dialogue import ConfirmationNeeded, Dialogue
from artifactctl.domain.errors import UsageError


def open_or_offer(
    open_existing: Callable[[], Catalog], start: Callable[[], Catalog], *, dialogue: Dialogue, named_by: str
) -> Catalog:
    """Return the catalog; make or upgrade it after a confirmation, else the error says how to."""
    try:
        return open_existing()
    except (CatalogMissing, CatalogOutdated) as absent:
        what = "Upgrade it" if isinstance(absent, CatalogOutdated) else "Make one"
        try:
            dialogue.confirm(f"{absent.message} (named by {named_by}). {what}?")
        except ConfirmationNeeded as unanswered:
            raise UsageError(absent.message, remedy="run `artifactctl init` first, or add --yes") from unanswered
    return start()
