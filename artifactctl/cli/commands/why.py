"""`why`: may it go, and if not, every reason, with what would change that."""

import click

from artifactctl.cli.options import ARTIFACT
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import machines_of_roots
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
    from artifactctl.reclaim.explaining import (
        copies_to_judge,
        explain_absence,
        explain_artifact,
        explain_silence,
        joined,
    )
    from artifactctl.report.why import why_document, why_payload

    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
    machines = machines_of_roots(wiring, [replica.root for replica in copies_to_judge(artifact)])
    answered = wiring.fleet.each(machines, lambda host: explain_artifact(workplace_of(wiring, host=host), artifact))
    if len(answered) == 1 and answered[0].failure is not None:
        raise answered[0].failure
    answer = joined(
        [
            each.value if each.failure is None else explain_silence(artifact, each.name, each.failure.message)
            for each in answered
        ]
        or [explain_absence(wiring.catalog, artifact)]
    )
    wiring.output.answer("why", payload=lambda: why_payload(answer), text=lambda: why_document(answer))
