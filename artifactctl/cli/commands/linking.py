"""`link`, `supersede`, `record`: saying afterwards what is what."""

from typing import TYPE_CHECKING

import click

from artifactctl.cli.options import ARTIFACT, METRIC
from artifactctl.cli.shared_options import Command, always
from artifactctl.cli.wiring import Wiring, pass_wiring

if TYPE_CHECKING:
    from artifactctl.domain.artifacts import Artifact


@click.command(cls=Command, changes=always)
@click.argument("child", type=ARTIFACT)
@click.option(
    "--input", "inputs", metavar="NAME[:ROLE]", multiple=True, required=True, help="What it was made from; repeatable."
)
@pass_wiring
def link(wiring: Wiring, child: str, inputs: tuple[str, ...]) -> None:
    """Record what an artifact was made from."""
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.inventory.linking import link as link_artifact

    edges = link_artifact(wiring.catalog, child, inputs, here=wiring.here, acting=wiring.acting)
    with wiring.catalog.reading() as reading:
        name = find_artifact(reading, child, here=wiring.here).name
        roles = [(_name_of(reading.artifact_by_id(edge.parent_id)), edge.role.value) for edge in edges]
    wiring.output.answer(
        "link",
        payload=lambda: {"name": name, "inputs": [{"name": parent, "role": role} for parent, role in roles]},
        text=lambda: [f"{name} {role} {parent}" for parent, role in roles],
    )


def _name_of(artifact: "Artifact | None") -> str:
    return artifact.name if artifact is not None else ""


@click.command(cls=Command, changes=always)
@click.argument("old", type=ARTIFACT)
@click.option("--by", "new", type=ARTIFACT, required=True, help="The artifact that takes its place.")
@pass_wiring
def supersede(wiring: Wiring, old: str, new: str) -> None:
    """Record that one artifact takes the place of another."""
    from artifactctl.inventory.linking import supersede as supersede_artifact

    replaced = supersede_artifact(wiring.catalog, old, new, here=wiring.here, acting=wiring.acting)
    wiring.output.answer(
        "supersede",
        payload=lambda: {"name": replaced.name, "superseded_by": replaced.superseded_by},
        text=lambda: [f"{replaced.name} is superseded by {replaced.superseded_by}"],
    )
    wiring.output.hint(f"`artifactctl verify {replaced.superseded_by}` makes that count when space is needed")


@click.command(cls=Command, changes=always)
@click.argument("name", type=ARTIFACT)
@click.option("--metric", "metrics", type=METRIC, multiple=True, required=True, help="A number; repeatable.")
@click.option("--source", metavar="TEXT", default="", help="Where the numbers come from.")
@pass_wiring
def record(wiring: Wiring, name: str, metrics: tuple[tuple[str, float], ...], source: str) -> None:
    """Record measurements of an artifact made elsewhere."""
    from artifactctl.inventory.linking import record as record_metrics

    artifact = record_metrics(
        wiring.catalog, name, dict(metrics), here=wiring.here, acting=wiring.acting, source=source
    )
    wiring.output.answer(
        "record",
        payload=lambda: {"name": artifact.name, "metrics": dict(artifact.metrics)},
        text=lambda: [f"{artifact.name}: " + ", ".join(f"{metric} {value:g}" for metric, value in metrics)],
    )
