"""What people stated about who else can have files open on a volume that several machines mount.

A statement is a person's word, on record: nothing on this machine can prove it. It permits a quarantine, since open
descriptors survive a rename; a purge needs every answer a second time, `MINIMUM_GRACE` after that.
"""

import posixpath
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import quote_from_bytes, unquote_to_bytes

from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import display_path
from artifactctl.domain.uptime import Uptime

MINIMUM_GRACE = timedelta(hours=24)
"""How long what was set aside on a statement stays at least, whatever the policy's grace: a client that has the old
name in its cache may open it for minutes after the rename, and a job that reads once an epoch shows itself in a day."""


class Regime(StrEnum):
    """What a statement rests on; the values are stored."""

    NOTHING = ""  # nobody said anything
    READ_ONLY = "read-only"  # nobody said anything of what others may mount: nothing at all is written there
    LEASE = "lease"  # everybody who uses the volume takes leases
    SOLE_CLIENTS = "sole-clients"  # no other machines than these have files open there


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A machine that mounts the volume. `path` is where it sees the root, b"" where that is the root's own path."""

    machine: str
    path: bytes = b""

    @property
    def text(self) -> str:
        """The words for it: `gpu2`, or `gpu2:/mnt/shared`; a comma in the path is written %2C."""
        return f"{self.machine}:{quote_from_bytes(self.path, safe='/ ~+@=')}" if self.path else self.machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """One statement about a root."""

    regime: Regime = Regime.NOTHING
    clients: tuple[Client, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> "Attestation":
        """Read what `text` returned; UsageError for anything else."""
        regime, _, names = text.partition(":")
        if regime not in set(Regime) or (regime != Regime.SOLE_CLIENTS and names):
            raise UsageError(f"{text!r} states nothing about a root", remedy="artifactctl root attest ROOT --help")
        clients = clients_from(names) if regime == Regime.SOLE_CLIENTS else ()
        return cls(regime=Regime(regime), clients=clients)

    @property
    def text(self) -> str:
        """The stored form."""
        if self.regime is Regime.SOLE_CLIENTS:
            return f"{self.regime.value}:{','.join(client.text for client in self.clients)}"
        return self.regime.value


NOTHING_STATED = Attestation()
READ_ONLY = Attestation(regime=Regime.READ_ONLY)


def clients_from(words: str) -> tuple[Client, ...]:
    """Read `a,b:/mnt/x`; UsageError names the word that is no machine."""
    clients = tuple(_client(word.strip()) for word in words.split(","))
    names = [client.machine for client in clients]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"the machine {twice[0]} is named twice", remedy="name each machine once")
    return clients


def _client(word: str) -> Client:
    machine, colon, path = word.partition(":")
    if not machine or any(character.isspace() or not character.isprintable() for character in machine):
        raise UsageError(f"{word!r} names no machine", remedy="write --sole-clients gpu1,gpu2:/mnt/shared")
    if colon and not path.startswith("/"):
        raise UsageError(
            f"{path!r} is no absolute path on {machine}", remedy=f"write {machine}:/where/it/sees/the/root"
        )
    return Client(machine=machine, path=posixpath.normpath(unquote_to_bytes(path)) if path else b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An attestation as it applies to the machine that acts; `stated_at` is when it was made, None when not known.

    `stated_since` is the same by the uptime of the machine on which it was made, None where that was not recorded.

    `covers_this_machine` is false where other machines are named as the only ones: then it is not true, and answers
    nothing. `elsewhere` are the clients that must be asked besides this machine.
    """

    regime: Regime
    covers_this_machine: bool = True
    elsewhere: tuple[Client, ...] = ()
    stated_at: datetime | None = None
    stated_since: Uptime | None = None


def applied_here(attestation: Attestation, names: Collection[str], *, stated_at: datetime | None) -> Statement | None:
    """Return the attestation as the machine called by one of `names` takes it; None where nothing was stated."""
    if attestation.regime in (Regime.NOTHING, Regime.READ_ONLY):
        return None
    if attestation.regime is Regime.LEASE:
        return Statement(regime=Regime.LEASE, stated_at=stated_at)
    elsewhere = tuple(client for client in attestation.clients if client.machine not in names)
    return Statement(
        regime=Regime.SOLE_CLIENTS,
        covers_this_machine=len(elsewhere) < len(attestation.clients),
        elsewhere=elsewhere,
        stated_at=stated_at,
    )


def in_words(attestation: Attestation) -> str:
    """Return who else has files open there, as somebody stated it."""
    if attestation.regime is Regime.LEASE:
        return "whoever takes a lease"
    if attestation.regime is Regime.READ_ONLY:
        return "not known: read-only until attested"
    shown = [f"{c.machine} ({display_path(c.path)})" if c.path else c.machine for c in attestation.clients]
    return ", ".join(shown) or "nobody"
