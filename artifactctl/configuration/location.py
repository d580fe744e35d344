"""Where the catalog is: --catalog, else ARTIFACTCTL_CATALOG, else the project's file, the user's, the default."""

from collections.abc import Mapping
from dataclasses import dataclass

from artifactctl.configuration.settings import Settings
from artifactctl.domain.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLocation:
    """A path or database URL, and what named it."""

    location: str
    named_by: str


def locate_catalog(given: str | None, environment: Mapping[str, str], settings: Settings) -> CatalogLocation:
    """Return the catalog that is meant; `given` is what --catalog said, None where nothing was said."""
    variable = environment.get("ARTIFACTCTL_CATALOG")
    in_file = settings.values.get("catalog.location")
    if given is not None:
        found = CatalogLocation(location=given, named_by="--catalog")
    elif variable is not None:
        found = CatalogLocation(location=variable, named_by="ARTIFACTCTL_CATALOG")
    elif in_file is not None:
        found = CatalogLocation(location=settings.text("catalog.location") or "", named_by=in_file.place)
    else:
        found = CatalogLocation(location=default_location(environment), named_by="the default")
    if not found.location.strip():
        raise UsageError(f"{found.named_by} names no catalog", remedy="give a path or a database URL")
    return found


def default_location(environment: Mapping[str, str]) -> str:
    """Return `catalog.db` in the state folder."""
    return f"{state_folder(environment)}/catalog.db"


def state_folder(environment: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/artifactctl`, by default below `~/.local/state`."""
    state = environment.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        home = environment.get("HOME", "")
        if not home:
            raise UsageError(
                "neither XDG_STATE_HOME nor HOME is set, so there is no place for the catalog",
                remedy="name one with --catalog PATH",
            )
        state = f"{home}/.local/state"
    return f"{state}/artifactctl"
