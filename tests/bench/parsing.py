"""Words of a command line, parsed as the program would; for documents that promise command lines."""

import click


def parse(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Parse the words as the program would, down to the last command; nothing is run."""
    with command.make_context(command.name, words, parent=parent) as context:
        if isinstance(command, click.Group):
            _, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            assert inner is not None
            parse(inner, rest, context)
