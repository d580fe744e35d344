"""`policy show`, `policy schema`: what the files mean together, and what a file may say."""

import click

from artifactctl.cli.commands.policy_checking import FILES
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("show", cls=Command)
@FILES
@pass_wiring
def show(wiring: Wiring, files: tuple[str, ...]) -> None:
    """Show the effective policy: all files as one, with what the configuration adds to them, and its digest."""
    from artifactctl.cli.policy_choice import footing_under, policy_for, texts_named
    from artifactctl.cli.policy_words import named_or_in_force
    from artifactctl.policy.layering import laid_over
    from artifactctl.policy.reading import load_policy
    from artifactctl.report.policy_text import policy_payload, policy_yaml

    texts = named_or_in_force(wiring, files)
    over = () if files else texts_named(wiring, ())
    written = laid_over(load_policy(texts), load_policy(over)) if over else load_policy(texts)
    policy = footing_under(wiring, files).under(written) if files else policy_for(wiring)
    names = [name for name, _ in (*texts, *over)]
    wiring.output.answer(
        "policy-show",
        payload=lambda: policy_payload(policy, written=written, files=names),
        text=lambda: [policy_yaml(policy, written=written, files=names)],
    )


@click.command("schema", cls=Command, formats=())
@pass_wiring
def schema(wiring: Wiring) -> None:
    """Print the JSON Schema of policy files, for editors."""
    from artifactctl.policy.schema import schema_text

    wiring.output.data(schema_text())
