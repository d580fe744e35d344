"""`policy diff`, `policy explain`: what a policy, or a change of one, means for the artifacts there are."""

import click

from artifactctl.cli.options import ARTIFACT, PATH
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.command("diff", cls=Command, formats=("text", "markdown", "json"))
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--snapshot", type=PATH, metavar="FILE", help="Ask an exported catalog, as of its export.")
@pass_wiring
def diff(wiring: Wiring, old: str, new: str, snapshot: bytes | None) -> None:
    """Show what would happen to which artifacts if NEW took the place of OLD: now, in a week, in a month.

    OLD and NEW are a policy file, a folder of them, or git:REVISION:PATH. Protects and limits that are configured
    elsewhere count for both, and are named. Exits 3 when protection is lost or a limit would refuse the run.
    """
    from artifactctl.cli.policy_words import candidates, reading_of
    from artifactctl.inventory.policy_impact import difference_between
    from artifactctl.report.policy_diff import DiffAnswer, diff_document, diff_payload
    from artifactctl.report.policy_diff_markdown import diff_markdown

    before, after = candidates(wiring, (old, new), exported=snapshot is not None)
    with reading_of(wiring, snapshot) as (reading, now):
        difference = difference_between(before, after, reading, now=now)
    answer = DiffAnswer(
        old=old,
        new=new,
        old_digest=before.standing.digest,
        new_digest=after.standing.digest,
        catalog="catalog" if snapshot is None else "catalog snapshot",
        difference=difference,
    )
    if wiring.output.format_name == "markdown":
        wiring.output.data(diff_markdown(answer))
    else:
        wiring.output.answer("policy-diff", payload=lambda: diff_payload(answer), text=lambda: diff_document(answer))
    if difference.loses_protection or difference.refused:
        raise SystemExit(ExitCode.CHECK_FAILED)


@click.command("explain", cls=Command)
@click.argument("name", type=ARTIFACT, metavar="NAME|PATH")
@click.option("--policy", "words", multiple=True, metavar="FILE|DIR", help="This policy (default: the one in force).")
@pass_wiring
def explain(wiring: Wiring, name: str, words: tuple[str, ...]) -> None:
    """Show what every protect and rule says of one artifact, in order, and which sentence decided.

    With --policy, what is configured protects and limits beside it, as it does in `reclaim --policy`.
    A policy only offers: `artifactctl why NAME` asks the guards.
    """
    from artifactctl.cli.policy_words import explaining_policy
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.inventory.policy_impact import explanation_of
    from artifactctl.report.policy_explanation import explanation_document, explanation_payload

    policy = explaining_policy(wiring, words)
    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        explanation = explanation_of(policy, reading, artifact, now=wiring.now())
    wiring.output.answer(
        "policy-explain",
        payload=lambda: explanation_payload(explanation),
        text=lambda: explanation_document(explanation),
    )
