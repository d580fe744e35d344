"""A group whose commands are imported when they are used and whose plug-ins are looked up when they are needed."""

import importlib
from collections.abc import Iterable

import click

from artifactctl.cli.command_table import COMMANDS, PLUG_IN_GROUP, PLUG_IN_SUMMARIES, SECTIONS
from artifactctl.domain.errors import ArtifactctlError, UsageError


class PlugInFailure(ArtifactctlError):
    """A command of another package could not be loaded."""


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `word` is most likely a misspelling of, None when none is near."""
    import difflib

    near = difflib.get_close_matches(word, sorted(candidates), n=1, cutoff=0.6)
    return near[0] if near else None


class LazyGroup(click.Group):
    """The top of the command tree, resolved from `command_table` and from entry points."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the built-in names in the table's order, then the plug-ins'."""
        return [*COMMANDS, *(name for name in plug_ins() if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command; None when nobody offers the name."""
        target = COMMANDS.get(cmd_name)
        if target is not None:
            module, attribute = target.split(":")
            command = getattr(importlib.import_module(module), attribute)
            assert isinstance(command, click.Command)
            return command
        return load_plug_in(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the first word; an unknown one is an error that offers the nearest name."""
        name = args[0]
        if name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = closest(name, self.list_commands(ctx))
        raise UsageError(
            f"there is no command `{name}`",
            remedy=f"did you mean `artifactctl {near}`?" if near else "`artifactctl --help` lists the commands",
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections, from the table alone: nothing is imported for help."""
        for title, table in SECTIONS:
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in table.items()])
        extra = {name: summary for name, summary in plug_ins().items() if name not in COMMANDS}
        if extra:
            with formatter.section("Plug-ins"):
                formatter.write_dl(sorted(extra.items()))


def plug_ins() -> dict[str, str]:
    """Return the names other packages offer, each with one line about it; nothing of them is imported."""
    from artifactctl.cli.plug_in_index import offered_commands

    return {
        name: PLUG_IN_SUMMARIES.get(name, f"From the package {package}.")
        for name, package in offered_commands(PLUG_IN_GROUP).items()
    }


def load_plug_in(name: str) -> click.Command | None:
    """Return the command another package offers under `name`, None when nobody does."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=PLUG_IN_GROUP, name=name):
        try:
            command = entry.load()
        except ImportError as error:
            extra = f" (`pip install 'artifactctl[{name}]'`)" if name in PLUG_IN_SUMMARIES else ""
            raise PlugInFailure(
                f"the command `{name}` cannot be loaded: {error}",
                remedy=f"install what it needs{extra}, or remove the package that offers it",
            ) from error
        if not isinstance(command, click.Command):
            raise PlugInFailure(f"the plug-in `{name}` ({entry.value}) is not a click command")
        return command
    return None
