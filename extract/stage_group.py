"""Groups of stages on the command line, each stage imported when it is run."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from artifactctl.domain.errors import UsageError


class StageGroup(click.Group):
    """A group of `stages`: name to (`module:attribute`, its line in the help). The help imports none of them."""

    def __init__(self, name: str, *, stages: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(
            name,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
            no_args_is_help=True,
            **settings,
        )
        self._stages = stages

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the stages in the order in which they are run."""
        return list(self._stages)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one stage, None when there is none of that name."""
        if cmd_name not in self._stages:
            return None
        module, attribute = self._stages[cmd_name][0].split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the stage; an unknown one is an error that names those there are."""
        if args[0].startswith("-") or ctx.resilient_parsing or args[0] in self._stages:
            return super().resolve_command(ctx, args)
        raise UsageError(f"there is no stage `{args[0]}`", remedy=f"`{ctx.command_path} {' | '.join(self._stages)}`")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the stages with their lines."""
        with formatter.section("Stages"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._stages.items()])
