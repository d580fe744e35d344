"""The options every command has, wherever in the line they stand, and the command classes that carry them.

`artifactctl --json ls` and `artifactctl ls --json` mean the same; the later word wins. What was given is kept in the
context's `meta`, which all levels of one command line share. The environment is not read here: a variable must not beat
a flag that stands further left.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

_META = "artifactctl.choices"

Changes = Callable[[Mapping[str, Any]], bool]


def always(_parameters: Mapping[str, Any]) -> bool:
    """Say that a command changes something whatever its parameters are."""
    return True


def unless_dry_run(parameters: Mapping[str, Any]) -> bool:
    """Say that a command changes something without `--dry-run`, or saves what it would do."""
    return not parameters.get("dry_run") or parameters.get("out") is not None


def if_given(*names: str) -> Changes:
    """Return that a command changes, promises or saves something where one of these options is given."""
    return lambda parameters: any(parameters.get(name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the shared options said; None where nothing was said."""

    catalog: str | None = None
    format: str | None = None
    color: str | None = None
    reason: str | None = None
    yes: bool = False
    debug: bool = False

    @classmethod
    def of(cls, context: click.Context) -> "Choices":
        """Return what has been said on the command line so far."""
        said: Mapping[str, Any] = context.meta.get(_META, {})
        return cls(**said)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is None or value is False or parameter.name is None:
        return
    if parameter.name == "json":
        name, value = "format", "json"
    else:
        name = parameter.name
    context.meta.setdefault(_META, {})[name] = value


def shared_options(formats: Sequence[str]) -> list[click.Option]:
    """Return fresh options for one command; `formats` is empty for a command that prints no data."""

    def option(*declarations: str, **settings: Any) -> click.Option:
        return click.Option(declarations, expose_value=False, callback=_remember, **settings)

    output = [
        option("--format", type=click.Choice(list(formats)), help="How to print the answer (default: text)."),
        option("--json", is_flag=True, help="The same as --format json."),
    ]
    return [
        *(output if formats else ()),
        option("--catalog", metavar="PATH|URL", help="The catalog to use (also ARTIFACTCTL_CATALOG)."),
        option("--yes", is_flag=True, help="Answer confirmations with yes; never waives a guard."),
        option("--color", type=click.Choice(["auto", "always", "never"]), help="Colours and tables (default: auto)."),
        option("--debug", is_flag=True, help="Show the traceback of an error."),
    ]


def reason_option(help_text: str = "Why; kept in the audit log.") -> click.Option:
    """Return `--reason TEXT`, read by the dialogue instead of asking."""
    return click.Option(["--reason"], metavar="TEXT", expose_value=False, callback=_remember, help=help_text)


class Command(click.Command):
    """A command with the shared options.

    `formats` are the ways it can print its answer; `reasoned` commands take `--reason` as well. `changes` says by the
    parameters whether something comes of it that rests on the catalog: one that moved away is not asked for that.
    """

    def __init__(
        self,
        name: str | None,
        *,
        formats: Sequence[str] = ("text", "json"),
        reasoned: bool = False,
        changes: Changes | None = None,
        params: list[click.Parameter] | None = None,
        **settings: Any,
    ) -> None:
        own = [*(params or ()), *([reason_option()] if reasoned else ()), *shared_options(formats)]
        super().__init__(name, params=own, **settings)
        self.changes = changes


class Group(click.Group):
    """A group whose commands carry the shared options and whose unknown words get a suggestion."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every command with its whole first sentence; click cuts it off to fit one line."""
        with formatter.section("Commands"):
            named = [(name, self.commands[name].get_short_help_str(limit=200)) for name in self.list_commands(ctx)]
            formatter.write_dl(named)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the first word; an unknown one is an error that offers the nearest name."""
        from artifactctl.cli.lazy_group import closest
        from artifactctl.domain.errors import UsageError

        name = args[0]
        if name.startswith("-") or ctx.resilient_parsing or name in self.commands:
            return super().resolve_command(ctx, args)
        near = closest(name, self.commands)
        raise UsageError(
            f"there is no command `{ctx.command_path} {name}`",
            remedy=f"did you mean `{ctx.command_path} {near}`?" if near else f"`{ctx.command_path} --help` lists them",
        )


Group.group_class = Group
