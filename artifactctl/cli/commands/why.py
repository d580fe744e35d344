"""`why`: may it go, and if not, every reason, with what would change that."""

import click

from artifactctl.cli.options import ARTIFACT
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("why", cls=Command)
@click.argument("name", type=ARTIFACT, metavar="NAME|PATH")
@pass_wiring
def why(wiring: Wiring, name: str) -> None:
    """Say whether an artifact may go, every reason against it, and what would change that.

    Exits 0 either way: it is a question, not a check.
    """
    from artifactctl.cli.reclaiming import workplace_of
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.reclaim.explaining import explain_artifact
    from artifactctl.report.why import why_document, why_payload

    work = workplace_of(wiring)
    with work.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
    answer = explain_artifact(work, artifact)
    wiring.output.answer("why", payload=lambda: why_payload(answer), text=lambda: why_document(answer))
