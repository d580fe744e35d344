"""Puts the pieces together for one command: settings, catalog, machine, clock, output and dialogue, when used."""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any

import click

from artifactctl.cli.dialogue import Dialogue
from artifactctl.cli.output import Output
from artifactctl.cli.shared_options import Choices

if TYPE_CHECKING:
    from artifactctl.cli.limits import SafetyLimits
    from artifactctl.cli.location import CatalogLocation
    from artifactctl.cli.settings import Settings
    from artifactctl.cli.surroundings import Surroundings
    from artifactctl.hosts.protocol import Host


class Wiring:
    """What a command works with. Nothing is opened, read or imported before it is asked for."""

    def __init__(self, *, choices: Choices, surroundings: "Surroundings") -> None:
        self.choices = choices
        self.surroundings = surroundings

    @cached_property
    def settings(self) -> "Settings":
        """What the configuration files say."""
        from artifactctl.cli.settings import read_settings

        return read_settings(
            working_directory=self.surroundings.working_directory, environment=self.surroundings.environment
        )

    @cached_property
    def limits(self) -> "SafetyLimits":
        """The safety limits in force before the command's own flags."""
        from artifactctl.cli.limits import safety_limits

        return safety_limits(self.settings, self.surroundings.environment)

    @cached_property
    def output(self) -> Output:
        """Where the answer and the talk go."""
        return Output(
            format_name=self._choice("format", "text"),
            color=self._choice("color", "auto"),
            environment=self.surroundings.environment,
        )

    @cached_property
    def dialogue(self) -> Dialogue:
        """Questions to the person."""
        return Dialogue(yes=self.choices.yes, reason=self.choices.reason)

    @cached_property
    def location(self) -> "CatalogLocation":
        """Which catalog this command line means."""
        from artifactctl.cli.location import locate_catalog

        return locate_catalog(self.choices, self.surroundings.environment, self.settings)

    @cached_property
    def host(self) -> "Host":
        """This machine."""
        return self.surroundings.make_host()

    @cached_property
    def actor(self) -> str:
        """Who acts, as it stands in the audit log: `login@host`."""
        from artifactctl.cli.surroundings import login_name

        return f"{login_name(self.surroundings.environment)}@{self.host.identify().hostname}"

    def now(self) -> datetime:
        """Return the present instant."""
        return self.surroundings.clock.now()

    def default(self, key: str) -> str | None:
        """Return `[defaults] key` of the configuration, ARTIFACTCTL_<KEY> first."""
        return self.surroundings.environment.get(f"ARTIFACTCTL_{key.upper()}") or self.settings.text(f"defaults.{key}")

    def _choice(self, name: str, otherwise: str) -> str:
        said: str | None = getattr(self.choices, name)
        return said or self.default(name) or otherwise


def pass_wiring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command its wiring as first argument; the context's object may be a `Surroundings` (tests)."""

    def call(*arguments: Any, **options: Any) -> Any:
        return click.get_current_context().invoke(
            command, wiring_of(click.get_current_context()), *arguments, **options
        )

    return update_wrapper(call, command)


def wiring_of(context: click.Context) -> Wiring:
    """Return the wiring of a command line; what it opened is closed when the command ends."""
    from artifactctl.cli.surroundings import Surroundings

    given = context.find_root().obj
    surroundings = given if isinstance(given, Surroundings) else Surroundings()
    return Wiring(choices=Choices.of(context), surroundings=surroundings)
