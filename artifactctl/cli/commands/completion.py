"""`completion`: the script that makes a shell complete commands, options and artifact names."""

import click

from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command(cls=Command, formats=())
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@pass_wiring
def completion(wiring: Wiring, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash:  eval "$(artifactctl completion bash)"          in ~/.bashrc
    zsh:   eval "$(artifactctl completion zsh)"           in ~/.zshrc
    fish:  artifactctl completion fish > ~/.config/fish/completions/artifactctl.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "click knows these three shells"
    root = click.get_current_context().find_root().command
    wiring.output.data(found(root, {}, "artifactctl", "_ARTIFACTCTL_COMPLETE").source())
