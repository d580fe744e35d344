"""Where a word points: a path of the machine it is typed on, or `HOST:PATH`, a path of another one.

A relative path is one of this machine; elsewhere nobody has a working directory.
"""

import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import UsageError
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.places import split_host
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.domain.text import display_path
from artifactctl.inventory.machines import is_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where words are typed: the working directory, and the machine, which is asked for only where a path needs it."""

    directory: bytes
    identify: Callable[[], HostIdentity] | None = None

    def is_machine(self, known: KnownHost) -> bool:
        """Whether this is the machine; where nobody can say which one it is, any that has no address may be."""
        return not known.address if self.identify is None else is_machine(known, self.identify())


NOWHERE = Here(directory=b"/")
"""For words that are names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An absolute path in normal form on a machine; `machine` is None for the one on which the word was typed."""

    machine: KnownHost | None
    path: bytes

    @property
    def text(self) -> str:
        """The place for people."""
        return display_path(self.typed)

    @property
    def typed(self) -> bytes:
        """The place as it is typed."""
        return self.path if self.machine is None else os.fsencode(self.machine.name) + b":" + self.path


def place_of(reading: Reading | None, word: str, *, here: Here) -> Place:
    """Return the place that a word means as a path; UnknownObject when its first part names no machine.

    Without a catalog no other machine is known. No link is followed.
    """
    name, path = split_host(word)
    if not name:
        return Place(machine=None, path=absolute(word, here=here.directory))
    known = machine_called(reading, name, here=here, typed=word)
    if not path.startswith("/") or ".." in path.split("/"):
        raise UsageError(
            f"`{word}` is no absolute path on {name}", remedy=f"give it from the top and without `..`: {name}:/data/..."
        )
    return Place(machine=known, path=b"/" + posixpath.normpath(os.fsencode(path)).lstrip(b"/"))


def machine_called(reading: Reading | None, name: str, *, here: Here, typed: str = "") -> KnownHost | None:
    """Return the machine of that name, None when it is this one; UnknownObject with the nearest names."""
    hosts = reading.hosts() if reading is not None else ()
    known = next((host for host in hosts if host.name == name), None)
    if known is not None:
        return None if here.is_machine(known) else known
    if here.identify is not None and here.identify().hostname == name:
        return None
    addressed = next(
        (host for host in hosts if host.address and urlsplit(host.address).hostname == name.strip("[]")), None
    )
    if addressed is not None or name.startswith("["):
        shown = "NAME" if addressed is None else addressed.name
        raise UnknownObject(
            f"`{name}` is an address, and a machine is meant by its name in the catalog",
            remedy=f"write {shown}:/PATH" + (" (`artifactctl host ls` lists the names)" if addressed is None else ""),
        )
    near = did_you_mean(name, [host.name for host in hosts]) or "`artifactctl host add NAME ssh://...` makes one known"
    local = f"; a path of this machine with a colon in it is written `./{typed}`" if typed else ""
    raise UnknownObject(f"the catalog knows no machine `{name}`", remedy=f"{near}{local}")


def absolute(word: str, *, here: bytes) -> bytes:
    """Return the word as an absolute path in normal form; no link is followed."""
    return os.path.normpath(os.path.join(here, os.fsencode(word)))


def roots_at(reading: Reading, place: Place, *, here: Here) -> tuple[Root, ...]:
    """Return the managed roots of the machine on which a place is."""
    if place.machine is not None:
        wanted = {place.machine.host_id}
    else:
        wanted = {known.host_id for known in reading.hosts() if here.is_machine(known)}
    return tuple(root for root in reading.roots() if root.host_id in wanted)
