"""Connections to machines that the catalog knows, and to new ones.

Nothing of Linux and no paramiko is imported before a connection is made: people connect from Macs as well.
"""

from collections.abc import Callable, Mapping

from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.ssh.address import Address, parse_address
from artifactctl.hosts.ssh.connection import Connection, open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.host_keys import HostKey
from artifactctl.hosts.ssh.pinning import Pin, given_pin, known_pin, stored_pin

AskPassphrase = Callable[[str], str]


def reach(
    known: KnownHost, *, environment: Mapping[str, str], ask_passphrase: AskPassphrase | None = None
) -> Connection:
    """Return a connection to a machine of the catalog, which has shown the key that is kept there."""
    destination = resolve(parse_address(known.address), environment=environment)
    pin = stored_pin(known.host_key, name=known.name)
    return open_connection(destination, pin, environment=environment, ask_passphrase=ask_passphrase)


def reach_new(
    address: Address,
    *,
    fingerprint: str = "",
    accepted: HostKey | None = None,
    environment: Mapping[str, str],
    ask_passphrase: AskPassphrase | None = None,
) -> Connection:
    """Return a connection to a machine seen for the first time; `said_by` of its pin tells who vouched for the key.

    Believed is the key `accepted`, which a person saw; else the one with `fingerprint`; else what known_hosts pins.
    HostKeyUnknown carries the key that was shown where none of them says anything.
    """
    destination = resolve(address, environment=environment)
    if accepted is not None:
        pin = Pin(said_by="a person", keys=(accepted,))
    else:
        pin = given_pin(fingerprint) if fingerprint else known_pin(destination)
    return open_connection(destination, pin, environment=environment, ask_passphrase=ask_passphrase)
