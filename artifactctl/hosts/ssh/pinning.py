"""Which key a machine must show, and who said so."""

from dataclasses import dataclass, replace

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.destination import Destination
from artifactctl.hosts.ssh.failures import HostKeyRefused, HostKeyUnknown
from artifactctl.hosts.ssh.host_keys import (
    ALGORITHMS,
    EVERY_ALGORITHM,
    HostKey,
    algorithms_for,
    check_fingerprint,
    parse_key,
)
from artifactctl.hosts.ssh.known_hosts import Pins, read_pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The keys, or the fingerprint of the one key, that are believed. `said_by` names who pinned, for messages."""

    said_by: str
    keys: tuple[HostKey, ...] = ()
    fingerprint: str = ""
    revoked: tuple[HostKey, ...] = ()

    def accepts(self, offered: HostKey) -> bool:
        """Whether the key a machine showed is the pinned one."""
        pinned = offered in self.keys or offered.fingerprint == self.fingerprint
        return pinned and offered not in self.revoked

    def attempts(self) -> tuple[tuple[str, ...], ...]:
        """Return the algorithms to ask for, one connection each, so that a pinned type is not missed for another.

        A fingerprint does not tell the type of its key, so that all of them are tried.
        """
        if self.keys:
            return (algorithms_for(tuple(key.type for key in self.keys)),)
        return tuple(ALGORITHMS.values()) if self.fingerprint else (EVERY_ALGORITHM,)

    @property
    def shown(self) -> str:
        """The fingerprints, for people."""
        return ", ".join(str(key) for key in self.keys) or self.fingerprint


def stored_pin(text: str, *, name: str) -> Pin:
    """Return the pin that the catalog keeps as `type base64`; HostKeyRefused when it keeps none."""
    key = parse_key(text)
    if key is None:
        raise HostKeyRefused(f"the catalog holds no usable key of {printable(name)}", remedy="artifactctl host ls")
    return Pin(said_by="the catalog", keys=(key,))


def given_pin(fingerprint: str) -> Pin:
    """Return the pin that `--host-key` names."""
    return Pin(said_by="--host-key", fingerprint=check_fingerprint(fingerprint))


def known_pin(destination: Destination) -> Pin:
    """Return what known_hosts files pin for the machine, a pin without keys when they don't."""
    pins = _pins(destination)
    return Pin(said_by="known_hosts", keys=_usable(pins), revoked=pins.revoked)


def heeding_revocations(pin: Pin, destination: Destination) -> Pin:
    """Return the pin, whoever gave it, without the keys that known_hosts files mark as revoked by now."""
    return replace(pin, revoked=(*pin.revoked, *_pins(destination).revoked))


def unknown(destination: Destination, offered: HostKey) -> HostKeyUnknown:
    """Return the refusal of a key that nobody pinned."""
    pins = _pins(destination)
    why = "no key of it is pinned"
    if offered in pins.revoked:
        why = "that key is marked as revoked in known_hosts"
    elif pins.authorities:
        why = "known_hosts trusts it by a certificate authority, which artifactctl cannot check"
    elif pins.keys:
        why = f"known_hosts pins only keys of kinds that are no longer safe ({', '.join(k.type for k in pins.keys)})"
    return HostKeyUnknown(
        f"{destination} shows the key {offered}, and {why}",
        remedy=f"compare with `ssh-keygen -lf {_file_of(offered)}` on the machine itself, "
        "then add --host-key SHA256:... (on a terminal you are asked)",
        offered=offered,
    )


def changed(destination: Destination, pin: Pin, offered: tuple[HostKey, ...]) -> HostKeyRefused:
    """Return the refusal of a machine that shows other keys than the pinned one."""
    shown = ", ".join(map(str, offered)) or "none of a kind that is understood here"
    if set(offered) & set(pin.revoked):
        return HostKeyRefused(
            f"{destination} shows a key that known_hosts marks as revoked: {shown}",
            remedy="ask whoever runs the machine; nothing was sent to it",
        )
    return HostKeyRefused(
        f"{destination} shows another key than the pinned one: pinned by {pin.said_by} is {pin.shown}; shown: {shown}",
        remedy="it may be another machine, or somebody in between; ask whoever runs it, "
        "and register a reinstalled machine under a new name",
    )


def _pins(destination: Destination) -> Pins:
    return read_pins(destination.known_hosts_files, host=destination.key_name, port=_port_of_key(destination))


def _port_of_key(destination: Destination) -> int:
    """Return the port that counts for known_hosts: an alias of the key stands there without one."""
    return destination.port if destination.key_name == destination.host else 22


def _usable(pins: Pins) -> tuple[HostKey, ...]:
    return tuple(key for key in pins.keys if key.type in ALGORITHMS)


def _file_of(key: HostKey) -> str:
    kind = "ecdsa" if key.type.startswith("ecdsa") else key.type.removeprefix("ssh-")
    return f"/etc/ssh/ssh_host_{kind}_key.pub"
