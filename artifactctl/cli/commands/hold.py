"""`hold`: keep an artifact until somebody lets it go."""

from datetime import datetime, timedelta

import click

from artifactctl.cli.options import ARTIFACT, FUTURE, instant_of
from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.group(cls=Group)
def hold() -> None:
    """Keep artifacts, whatever policies say."""


@hold.command("add", reasoned=True, changes=always)
@click.argument("name", type=ARTIFACT)
@click.option("--until", type=FUTURE, help="When to look at it again (2026-12-31 or 30d); it holds until released.")
@pass_wiring
def add(wiring: Wiring, name: str, until: datetime | timedelta | None) -> None:
    """Keep an artifact until the hold is released."""
    from artifactctl.cli.holding import told_everywhere
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.inventory.holding import add_hold
    from artifactctl.report.promises import hold_payload

    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
    reason = wiring.dialogue.reason(f"Why keep {artifact.name}?")
    review = instant_of(until, now=wiring.now())
    with told_everywhere(wiring, artifact) as host:
        placed = add_hold(wiring.catalog, host, artifact, reason=reason, until=review, acting=wiring.acting)
    wiring.output.answer(
        "hold",
        payload=lambda: hold_payload(placed),
        text=lambda: [f"{artifact.name} is kept: {reason}"],
    )


@hold.command("release", reasoned=True, changes=always)
@click.argument("name", type=ARTIFACT)
@pass_wiring
def release(wiring: Wiring, name: str) -> None:
    """Release every hold on an artifact."""
    from artifactctl.cli.holding import told_everywhere
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.inventory.holding import release_holds
    from artifactctl.report.promises import hold_payload

    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
    reason = wiring.dialogue.reason(f"Why is {artifact.name} no longer kept?")
    with told_everywhere(wiring, artifact) as host:
        released = release_holds(wiring.catalog, host, artifact, reason=reason, acting=wiring.acting)
    wiring.output.answer(
        "hold-release",
        payload=lambda: {"released": [hold_payload(each) for each in released]},
        text=lambda: [f"{artifact.name} is no longer kept: {reason}"],
    )


@hold.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List what is kept, by whom and why."""
    from artifactctl.report.promises import hold_payload, hold_table

    now = wiring.now()
    with wiring.catalog.reading() as reading:
        holds = reading.holds()
    wiring.output.answer(
        "holds",
        payload=lambda: {"holds": [{**hold_payload(h), "review_due": h.review_is_due(now)} for h in holds]},
        text=lambda: [hold_table(holds, now=now)],
    )
