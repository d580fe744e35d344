"""`link`, `supersede`, `record`: saying afterwards what is what."""

import click

from artifactctl.cli.options import ARTIFACT, METRIC
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command(cls=Command)
@click.argument("child", type=ARTIFACT)
@click.option(
    "--input", "inputs", metavar="NAME[:ROLE]", multiple=True, required=True, help="What it was made from; repeatable."
)
@pass_wiring
def link(wiring: Wiring, child: str, inputs: tuple[str, ...]) -> None:
    """Record what an artifact was made from."""
    from artifactctl.inventory.linking import link as link_artifact
    from artifactctl.inventory.linking import parse_input

    given = [parse_input(text) for text in inputs]
    artifact = link_artifact(wiring.catalog, child, given, here=wiring.here, acting=wiring.acting)
    wiring.output.answer(
        "link",
        payload=lambda: {"name": artifact.name, "inputs": list(inputs)},
        text=lambda: [f"{artifact.name} was made from {', '.join(inputs)}"],
    )


@click.command(cls=Command)
@click.argument("old", type=ARTIFACT)
@click.option("--by", "new", type=ARTIFACT, required=True, help="The artifact that takes its place.")
@pass_wiring
def supersede(wiring: Wiring, old: str, new: str) -> None:
    """Record that one artifact takes the place of another."""
    from artifactctl.inventory.linking import supersede as supersede_artifact

    replaced, successor = supersede_artifact(wiring.catalog, old, new, here=wiring.here, acting=wiring.acting)
    wiring.output.answer(
        "supersede",
        payload=lambda: {"name": replaced.name, "superseded_by": successor.name},
        text=lambda: [f"{replaced.name} is superseded by {successor.name}"],
    )
    wiring.output.hint(f"`artifactctl verify {successor.name}` makes that count when space is needed")


@click.command(cls=Command)
@click.argument("name", type=ARTIFACT)
@click.option("--metric", "metrics", type=METRIC, multiple=True, required=True, help="A number; repeatable.")
@click.option("--source", metavar="TEXT", default="", help="Where the numbers come from.")
@pass_wiring
def record(wiring: Wiring, name: str, metrics: tuple[tuple[str, float], ...], source: str) -> None:
    """Record measurements of an artifact made elsewhere."""
    from artifactctl.inventory.linking import record_measurements

    catalog, acting = wiring.catalog, wiring.acting
    artifact = record_measurements(catalog, name, metrics, source=source, here=wiring.here, acting=acting)
    wiring.output.answer(
        "record",
        payload=lambda: {"name": artifact.name, "metrics": dict(artifact.metrics)},
        text=lambda: [f"{artifact.name}: " + ", ".join(f"{metric} {value:g}" for metric, value in metrics)],
    )
