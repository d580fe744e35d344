"""Names for the shell to complete: read from the catalog as it is, none where there is none to ask."""

import click

from artifactctl.cli.wiring import wiring_of
from artifactctl.domain.errors import ArtifactctlError

MOST_NAMES = 200


def names_beginning_with(context: click.Context, incomplete: str) -> list[str]:
    """Return catalogued names that begin with what was typed. A shell has no place for an error: then none."""
    try:
        with wiring_of(context).open_existing().reading() as reading:
            found = reading.names_like(incomplete, limit=MOST_NAMES)
    except ArtifactctlError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def hosts_beginning_with(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of known machines that begin with what was typed."""
    try:
        with wiring_of(context).open_existing().reading() as reading:
            return [host.name for host in reading.hosts() if host.name.startswith(incomplete)]
    except ArtifactctlError:
        return []
