"""Puts the pieces together for one command: settings, catalog, machine, clock, output and dialogue, when used."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any

import click

from artifactctl.cli.dialogue import Dialogue
from artifactctl.cli.output import Output
from artifactctl.cli.shared_options import Choices, Command
from artifactctl.domain.errors import ArtifactctlError, UsageError

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog, Reading
    from artifactctl.cli.surroundings import Surroundings
    from artifactctl.configuration.limits import SafetyLimits
    from artifactctl.configuration.location import CatalogLocation
    from artifactctl.configuration.settings import Settings
    from artifactctl.domain.accounts import Account
    from artifactctl.domain.identity import HostIdentity
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.acting import Acting
    from artifactctl.inventory.clients import Clients
    from artifactctl.inventory.doorkeeping import Doorkeeper
    from artifactctl.inventory.fleet import Fleet
    from artifactctl.inventory.places import Here
    from artifactctl.inventory.starting import StartedCatalog


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
        from artifactctl.configuration.limits_in_force import safety_limits

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

        return open_or_offer(
            self.open_existing,
            lambda: self.start_catalog().catalog,
            dialogue=self.dialogue,
            named_by=self.location.named_by,
        )

    def start_catalog(self) -> "StartedCatalog":
        """Make or upgrade the catalog, as `init` does."""
        from artifactctl.inventory.starting import start_catalog

        started = start_catalog(self.location.location, acting=self.acting, doorkeeper=self.doorkeeper)
        self.closing(started.catalog)
        return started

    @cached_property
    def catalog_if_any(self) -> "Catalog | None":
        """The catalog, None where there is none yet; for commands that can answer without one."""
        from artifactctl.catalog import CatalogMissing

        try:
            return self.open_existing()
        except CatalogMissing:
            return None

    def require_in_force(self) -> None:
        """Refuse where the catalog moved away, before anything is looked at, saved or written; CatalogMoved."""
        from artifactctl.catalog import CatalogOutdated

        try:
            catalog = self.catalog_if_any
        except CatalogOutdated:  # whoever uses it is asked whether to upgrade it
            return
        if catalog is not None:
            catalog.require_in_force()

    def open_existing(self) -> "Catalog":
        """Open the catalog as it is; CatalogMissing, CatalogOutdated and the like as they are found."""
        from artifactctl.catalog import open_catalog

        return self.closing(open_catalog(self.location.location, now=self.now(), doorkeeper=self.doorkeeper))

    def closing(self, catalog: "Catalog") -> "Catalog":
        """Close the catalog when the command ends; what it changed is noted in the roots before."""
        self.fleet  # noqa: B018 - made first, so that it is let go last: the roots are told through it
        self._on_close(lambda: self._close(catalog))
        return catalog.measure_by(lambda: self.host.uptime()) if self.is_linux else catalog

    def _close(self, catalog: "Catalog") -> None:
        """Tell the roots of this machine, and of those the command reached anyway: nobody waits for the others."""
        from artifactctl.inventory.catalog_heads import note_heads

        try:
            if catalog.has_written:
                hosts = (*self._own_if_it_has_roots(catalog), *self.fleet.reached())
                for problem in [problem for host in hosts for problem in note_heads(catalog, host)]:
                    self.output.warning(problem)
        except ArtifactctlError as failure:  # the command is done: this must not take its place
            self.output.warning(f"the roots were not told how far the catalog is: {failure.message}")
        finally:
            catalog.close()

    def _own_if_it_has_roots(self, catalog: "Catalog") -> "tuple[Host, ...]":
        from artifactctl.inventory.machine_choice import machines_of

        with catalog.reading() as reading:
            return (self.host,) if None in machines_of(reading, reading.roots(), here=self.here) else ()

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

        return Acting(actor=self.actor, host=self.identity.hostname, now=self.now())

    def acting_on(self, host: "Host") -> "Acting":
        """Who acts now, on that machine."""
        return replace(self.acting_now(), host=host.identify().hostname)

    @cached_property
    def here(self) -> "Here":
        """The working directory, from which relative paths start, and this machine."""
        from artifactctl.inventory.places import Here

        return Here(directory=os.fsencode(self.surroundings.working_directory), identify=lambda: self.identity)

    @cached_property
    def identity(self) -> "HostIdentity":
        """Who this machine is. Where it is no Linux machine, nothing of it is touched to know that."""
        if self.is_linux:
            return self.host.identify()
        from artifactctl.configuration.account import stand_in_machine_id
        from artifactctl.domain.identity import HostIdentity

        machine_id = stand_in_machine_id(self.surroundings.environment)
        return HostIdentity(machine_id=machine_id, hostname=os.uname().nodename, boot_id="")

    @property
    def is_linux(self) -> bool:
        """Whether artifacts can be on this machine at all."""
        return self.surroundings.platform.startswith("linux")

    @cached_property
    def host(self) -> "Host":
        """This machine; UsageError where nothing can be managed on it."""
        if not self.is_linux:
            raise UsageError(
                f"artifactctl looks at Linux machines, and this one runs {self.surroundings.platform}",
                remedy="name another machine: `artifactctl host add NAME ssh://...`, then NAME:PATH or --host NAME",
            )
        return self.surroundings.make_host(self.surroundings.environment)

    @cached_property
    def fleet(self) -> "Fleet":
        """The machines of this command."""
        from artifactctl.inventory.fleet import Fleet

        around = self.surroundings
        fleet = Fleet(
            here=self.here,
            own=lambda: self.host,
            connect=lambda known: around.connect(known, around.environment),
            clock=self.now,
            say=self.output.warning,
        )
        self._on_close(fleet.close)
        return fleet

    @cached_property
    def clients(self) -> "Clients":
        """The machines that mount volumes of the one that is worked on, by their names in the catalog."""
        from artifactctl.inventory.clients import DEADLINE_SECONDS, Clients

        around = self.surroundings
        return Clients(
            connect=around.other_host or self._machine_called,
            deadline_seconds=around.other_host_seconds or DEADLINE_SECONDS,
        )

    def _machine_called(self, name: str) -> "Host":
        from artifactctl.inventory.clients import unknown_machine

        with self.reading_if_any() as reading:
            known = None if reading is None else reading.host(name)
        if known is None:
            raise unknown_machine(name)
        return self.fleet.reach(known)

    @cached_property
    def actor(self) -> str:
        """Who acts, as it stands in the audit log: `login@host`."""
        return self.account.actor

    @cached_property
    def account(self) -> "Account":
        """The account that acts."""
        return self.surroundings.ask_account(self.surroundings.environment, self.identity.hostname)

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
        context = click.get_current_context()
        wiring = wiring_of(context)
        changes = context.command.changes if isinstance(context.command, Command) else None
        if changes is not None and changes(context.params):
            wiring.require_in_force()
        return context.invoke(command, wiring, *arguments, **options)

    return update_wrapper(call, command)


def wiring_of(context: click.Context) -> Wiring:
    """Return the wiring of a command line; what it opened is closed when the command ends."""
    from artifactctl.cli.surroundings import Surroundings

    given = context.find_root().obj
    surroundings = given if isinstance(given, Surroundings) else Surroundings()
    return Wiring(choices=Choices.of(context), surroundings=surroundings, on_close=context.call_on_close)
