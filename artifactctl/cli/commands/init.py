"""`init`: make the catalog, or bring an old one to this version."""

import click

from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command(cls=Command)
@pass_wiring
def init(wiring: Wiring) -> None:
    """Create or upgrade the catalog.

    It is a database file in your state folder unless --catalog, ARTIFACTCTL_CATALOG or artifactctl.toml name another.
    """
    started = wiring.start_catalog()
    catalog = started.catalog
    wiring.output.answer(
        "init",
        payload=lambda: {"catalog": catalog.location, "lineage": catalog.lineage_id, "outcome": started.start},
        text=lambda: [f"catalog {catalog.location}: {started.start}"],
    )
    if started.start == "created":
        wiring.output.hint("`artifactctl root add PATH` says where your artifacts are, `artifactctl scan` finds them")
