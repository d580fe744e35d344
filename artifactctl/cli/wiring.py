"""Puts the pieces together for one command: settings, catalog, machine, clock, output and dialogue, when used."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any

import click

from artifactctl.cli.dialogue import Dialogue
from artifactctl.cli.output import Output
from artifactctl.cli.shared_options import Choices
from artifactctl.domain.errors import ArtifactctlError, UsageError

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog, Reading
    from artifactctl.cli.surroundings import Surroundings
    from artifactctl.configuration.limits import SafetyLimits
    from artifactctl.configuration.location import CatalogLocation
    from artifactctl.configuration.settings import Settings
    from artifactctl.domain.accounts import Account
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.acting import Acting
    from artifactctl.inventory.clients import Clients
    from artifactctl.inventory.doorkeeping import Doorkeeper


class Wiring:
    """What a command works with. Nothing is opened, read or imported before it is asked for."""

    def __init__(
        self,
        *,
        choices: Choices,
        surroundings: "Surroundings",
        on_close: Callable[[Callable[[], None]], object],
    ) -> None:
        self.choices = choices
        self.surroundings = surroundings
        self._on_close = on_close

    @cached_property
    def settings(self) -> "Settings":
        """What the configuration files say."""
        from artifactctl.configuration.settings import read_settings

        return read_settings(
            working_directory=self.surroundings.working_directory, environment=self.surroundings.environment
        )

    @cached_property
    def limits(self) -> "SafetyLimits":
        """The safety limits in force before the command's own flags."""
        from artifactctl.configuration.limits import safety_limits

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
        from artifactctl.configuration.location import locate_catalog

        return locate_catalog(self.choices.catalog, self.surroundings.environment, self.settings)

    @cached_property
    def catalog(self) -> "Catalog":
        """The catalog; where there is none yet, or an old one, a person is asked whether to make it."""
        from artifactctl.cli.opening import open_or_offer

        return open_or_offer(self)

    @cached_property
    def catalog_if_any(self) -> "Catalog | None":
        """The catalog, None where there is none yet; for commands that can answer without one."""
        from artifactctl.catalog import CatalogMissing

        try:
            return self.open_existing()
        except CatalogMissing:
            return None

    def open_existing(self) -> "Catalog":
        """Open the catalog as it is; CatalogMissing, CatalogOutdated and the like as they are found."""
        from artifactctl.catalog import open_catalog

        return self.closing(open_catalog(self.location.location, now=self.now(), doorkeeper=self.doorkeeper))

    def closing(self, catalog: "Catalog") -> "Catalog":
        """Close the catalog when the command ends; what it changed is noted in the roots before."""
        self._on_close(lambda: self._close(catalog))
        return catalog

    def _close(self, catalog: "Catalog") -> None:
        from artifactctl.inventory.catalog_heads import note_heads

        try:
            if catalog.has_written:
                for problem in note_heads(catalog, self.host):
                    self.output.warning(problem)
        except ArtifactctlError as failure:  # the command is done: this must not take its place
            self.output.warning(f"the roots were not told how far the catalog is: {failure.message}")
        finally:
            catalog.close()

    @contextmanager
    def reading_if_any(self) -> Iterator["Reading | None"]:
        """Yield one look at the catalog, None where there is none yet."""
        catalog = self.catalog_if_any
        if catalog is None:
            yield None
            return
        with catalog.reading() as reading:
            yield reading

    @cached_property
    def acting(self) -> "Acting":
        """Who acts, where and when: the same instant for everything one command changes."""
        return self.acting_now()

    def acting_now(self) -> "Acting":
        """Who acts, where, and this very instant, for commands that last."""
        from artifactctl.inventory.acting import Acting

        return Acting(actor=self.actor, host=self.host.identify().hostname, now=self.now())

    @property
    def here(self) -> bytes:
        """The working directory, from which relative paths start."""
        return os.fsencode(self.surroundings.working_directory)

    @cached_property
    def host(self) -> "Host":
        """This machine."""
        return self.surroundings.make_host(self.surroundings.environment)

    @cached_property
    def clients(self) -> "Clients":
        """The other machines that mount volumes of this one."""
        from artifactctl.inventory.clients import DEADLINE_SECONDS, Clients, from_table

        around = self.surroundings
        return Clients(
            connect=around.other_host or from_table({}), deadline_seconds=around.other_host_seconds or DEADLINE_SECONDS
        )

    @cached_property
    def actor(self) -> str:
        """Who acts, as it stands in the audit log: `login@host`."""
        return self.account.actor

    @cached_property
    def account(self) -> "Account":
        """The account that acts."""
        return self.surroundings.ask_account(self.surroundings.environment, self.host.identify().hostname)

    @cached_property
    def doorkeeper(self) -> "Doorkeeper":
        """What tells a catalog who has it open."""
        from artifactctl.inventory.doorkeeping import Doorkeeper

        return Doorkeeper(lambda: self.account)

    def now(self) -> datetime:
        """Return the present instant."""
        return self.surroundings.clock.now()

    def default(self, key: str) -> str | None:
        """Return `[defaults] key` of the configuration, ARTIFACTCTL_<KEY> first."""
        return self.surroundings.environment.get(f"ARTIFACTCTL_{key.upper()}") or self.settings.text(f"defaults.{key}")

    def volume_word(self, given: str | None) -> str:
        """Return the volume that was named, else the configured one; UsageError when there is neither."""
        word = given or self.default("volume")
        if not word:
            raise UsageError("no volume was named", remedy="add --volume with a root name or a path")
        return word

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
    return Wiring(choices=Choices.of(context), surroundings=surroundings, on_close=context.call_on_close)
