"""The machines one command works with: each is connected at its first use, checked, and let go at the end.

The machine that the program runs on is reached without connecting to anything, and not touched before it is asked for.
What a function gets is one `Host`; the loop over several of them is here.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar, runtime_checkable

from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import ArtifactctlError, HostFailure, Refused
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.keyed import known_as
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.machine_choice import machine_of_root
from artifactctl.inventory.places import Here
from artifactctl.report.sizes import format_duration

WORTH_SAYING = timedelta(minutes=1)
"""A machine's clock that is further off than this is told."""

MOST_AT_ONCE = 8
"""So many machines are asked at the same time."""

Found = TypeVar("Found")


class WrongMachine(Refused):
    """What answers at an address is not the machine that the catalog knows there."""


@runtime_checkable
class _Closing(Protocol):
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Found]):
    """What one machine said (`found` holds one thing), or why it could not be asked. `machine` is None for this one."""

    name: str
    machine: KnownHost | None
    found: tuple[Found, ...] = ()
    failure: ArtifactctlError | None = None

    @property
    def value(self) -> Found:
        """What was said; IndexError where nothing was."""
        return self.found[0]


class Fleet:
    """Hands out a `Host` for each machine, the same one as long as it lives."""

    def __init__(
        self,
        *,
        here: Here,
        own: Callable[[], Host],
        connect: Callable[[KnownHost], Host],
        clock: Callable[[], datetime],
        say: Callable[[str], None],
    ) -> None:
        """Connect nothing yet. `say` hears what is odd about a machine; `own` gives the one the program runs on."""
        self._here, self._own, self._connect, self._clock, self._say = here, own, connect, clock, say
        self._reached: dict[int, Host | ArtifactctlError] = {}
        self._open: list[Host] = []
        self._locks: dict[int, threading.Lock] = {}
        self._table = threading.Lock()

    def reach(self, machine: KnownHost | None) -> Host:
        """Return a machine (None: this one), connected and checked; its failure is remembered, not tried again.

        WrongMachine when another one answers, naming both.
        """
        if machine is None or self._here.is_machine(machine):
            return self._own()
        with self._table:
            lock = self._locks.setdefault(machine.host_id, threading.Lock())
        with lock:
            found = self._reached.get(machine.host_id)
            if found is None:
                found = self._try(machine)
                self._reached[machine.host_id] = found
        if isinstance(found, ArtifactctlError):
            raise found
        return found

    def of_root(self, reading: Reading, root: Root) -> Host:
        """Return the machine on which a root lies."""
        return self.reach(machine_of_root(reading, root, here=self._here))

    def each(self, machines: Sequence[KnownHost | None], ask: Callable[[Host], Found]) -> tuple[Answer[Found], ...]:
        """Ask several machines the same thing at the same time; see `each_its_own`."""
        return self.each_its_own([(machine, ask) for machine in machines])

    def each_its_own(
        self, asked: Sequence[tuple[KnownHost | None, Callable[[Host], Found]]]
    ) -> tuple[Answer[Found], ...]:
        """Ask several machines at the same time, for what changes nothing on them; one that fails stops nobody.

        This machine is asked by the calling thread, since signals can be taken care of there only.
        """
        with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as threads:
            answers = {m.host_id: threads.submit(self._ask, m, ask) for m, ask in asked if m is not None}
            try:
                own = [self._ask(None, ask) for machine, ask in asked if machine is None]
                return tuple(own[0] if m is None else answers[m.host_id].result() for m, _ in asked)
            except BaseException:
                for waiting in answers.values():
                    waiting.cancel()
                self.close()  # whoever waits for an answer stops waiting
                raise

    def one_by_one(self, machines: Sequence[KnownHost | None], act: Callable[[Host], Found]) -> Iterator[Answer[Found]]:
        """Work on several machines one after the other; one that cannot be reached stops nobody."""
        for machine in machines:
            yield self._ask(machine, act)

    def name_of(self, machine: KnownHost | None) -> str:
        """Return what a machine is called."""
        if machine is not None:
            return machine.name
        return self._here.identify().hostname if self._here.identify is not None else ""

    def reached(self) -> tuple[Host, ...]:
        """Return the other machines that were connected so far and answer as far as is known."""
        return tuple(host for host in self._reached.values() if not isinstance(host, ArtifactctlError))

    def close(self) -> None:
        """Let every machine go."""
        with self._table:
            leaving, self._open = self._open, []
        for host in leaving:
            if isinstance(host, _Closing):
                host.close()

    def _ask(self, machine: KnownHost | None, ask: Callable[[Host], Found]) -> Answer[Found]:
        name = self.name_of(machine)
        try:
            host = self.reach(machine)
        except ArtifactctlError as failure:  # unreachable, refused or another machine: nothing was asked
            return Answer(name=name, machine=machine, failure=failure)
        try:
            return Answer(name=name, machine=machine, found=(ask(host),))
        except HostFailure as failure:
            return Answer(name=name, machine=machine, failure=failure)

    def _try(self, machine: KnownHost) -> Host | ArtifactctlError:
        if machine.forgotten_at is not None:
            return HostFailure(
                f"the machine {machine.name} was forgotten, and nothing is asked there",
                remedy=f"`artifactctl host add {machine.name} {machine.address or 'ssh://...'}` takes it back",
            )
        if not machine.address:
            return HostFailure(
                f"the catalog has no address of the machine {machine.name}",
                remedy=f"run this on {machine.name}, or `artifactctl host add {machine.name} ssh://...`",
            )
        try:
            host = self._connect(machine)
            with self._table:
                self._open.append(host)
            self._check(machine, host)
            return known_as(host, name=machine.name, host_key=machine.host_key)
        except ArtifactctlError as failure:
            return failure

    def _check(self, machine: KnownHost, host: Host) -> None:
        found = host.identify()
        if found.machine_id != machine.machine_id:
            raise WrongMachine(
                f"{machine.address} is not the machine {machine.name} that the catalog knows: its machine id is "
                f"{found.machine_id} ({found.hostname}), and {machine.name} has {machine.machine_id}",
                remedy="look what happened to it; a new machine is `artifactctl host add` under another name",
            )
        ahead = host.now() - self._clock()
        if abs(ahead) > WORTH_SAYING:
            word = "ahead of" if ahead > timedelta() else "behind"
            self._say(
                f"the clock of {machine.name} is {format_duration(abs(ahead))} {word} this machine's: file times there "
                "are compared with its own, grace and expiry go by this one"
            )
