"""`ls`, `show`, `lineage`: looking at what the catalog knows."""

import click

from artifactctl.cli.options import ARTIFACT
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState


@click.command(cls=Command)
@click.option("--kind", type=click.Choice([kind.value for kind in ArtifactKind]), help="Only artifacts of this kind.")
@click.option("--state", type=click.Choice([s.value for s in ReplicaState]), help="Only artifacts in this state.")
@click.option("--sort", type=click.Choice(["size", "age", "name"]), default="name", help="Largest, oldest or by name.")
@pass_wiring
def ls(wiring: Wiring, kind: str | None, state: str | None, sort: str) -> None:
    """List artifacts.

    Artifacts whose bytes are gone are counted below the list; `--state gone` lists them, JSON always has them.
    """
    from artifactctl.inventory.browsing import list_artifacts
    from artifactctl.report.artifacts import Sort, listing_payload, listing_text

    wanted_kind = ArtifactKind(kind) if kind else None
    wanted_state = ReplicaState(state) if state else None
    with wiring.catalog.reading() as reading:
        listing = list_artifacts(reading, kind=wanted_kind, state=wanted_state, sort=Sort(sort), now=wiring.now())
    wiring.output.answer(
        "ls", payload=lambda: listing_payload(listing), text=lambda: listing_text(listing, show_gone=bool(state))
    )


@click.command(cls=Command)
@click.argument("name", type=ARTIFACT)
@pass_wiring
def show(wiring: Wiring, name: str) -> None:
    """Show everything known about one artifact."""
    from artifactctl.inventory.browsing import portrait_of
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.report.portrait import portrait_payload, portrait_text

    with wiring.catalog.reading() as reading:
        portrait = portrait_of(reading, find_artifact(reading, name, here=wiring.here), now=wiring.now())
    wiring.output.answer("show", payload=lambda: portrait_payload(portrait), text=lambda: portrait_text(portrait))


@click.command(cls=Command, formats=("text", "json", "dot", "mermaid"))
@click.argument("name", type=ARTIFACT)
@click.option("--up", is_flag=True, help="Only what it was made from.")
@click.option("--down", is_flag=True, help="Only what was made from it.")
@pass_wiring
def lineage(wiring: Wiring, name: str, *, up: bool, down: bool) -> None:
    """Show what an artifact was made from and used for."""
    from artifactctl.inventory.browsing import family_of
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.report import lineage as drawing

    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        family = family_of(reading, artifact, up=up or not down, down=down or not up)
    drawn = {"dot": drawing.lineage_dot, "mermaid": drawing.lineage_mermaid}.get(wiring.output.format_name)
    wiring.output.answer(
        "lineage",
        payload=lambda: drawing.lineage_payload(family),
        text=lambda: [drawn(family)] if drawn else drawing.lineage_tree(family),
    )
