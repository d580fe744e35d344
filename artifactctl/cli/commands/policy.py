"""`policy`: the files that say what may go, checked and shown before anything acts on them."""

import click

from artifactctl.cli.commands.policy_checking import lint, test
from artifactctl.cli.commands.policy_impact import diff, explain
from artifactctl.cli.commands.policy_showing import schema, show
from artifactctl.cli.shared_options import Group


@click.group(cls=Group)
def policy() -> None:
    """Check, test, show and compare the files that say what may go.

    Without FILE the policy in force is meant: the files under [policy] in artifactctl.toml, else the shipped default.
    """


for command in (lint, test, show, explain, diff, schema):
    policy.add_command(command)
