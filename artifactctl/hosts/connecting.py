"""Connections to machines that the catalog knows, and to new ones.

Nothing of Linux and no paramiko is imported before a connection is made: people connect from Macs as well.
"""

from collections.abc import Callable, Mapping
from typing import cast

from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.ssh.address import Address, parse_address
from artifactctl.hosts.ssh.channel import SshChannel
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


def connect(known: KnownHost, *, environment: Mapping[str, str], ask_passphrase: AskPassphrase | None = None) -> Host:
    """Return a machine of the catalog with the probe running on it; `close` ends both.

    Where no Python is, it answers for its space and the size of trees, and refuses everything else.
    """
    from artifactctl.hosts.remote import RemoteHost
    from artifactctl.hosts.ssh.coreutils import CoreutilsHost
    from artifactctl.hosts.ssh.failures import PythonMissing
    from artifactctl.hosts.ssh.python import start_python
    from artifactctl.hosts.wire.bootstrap import CODE

    connection = reach(known, environment=environment, ask_passphrase=ask_passphrase)
    try:
        channel = start_python(connection, CODE, sudo=known.uses_sudo)
        return RemoteHost(_Line(channel, connection), machine=known.name)
    except PythonMissing:
        return cast("Host", CoreutilsHost(connection, name=known.name))
    except BaseException:
        connection.close()
        raise


class _Line:
    """The channel to an agent together with the connection that carries nothing else."""

    def __init__(self, channel: SshChannel, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection

    def read(self, at_most: int) -> bytes:
        """Return bytes, b"" at the end."""
        return self._channel.read(at_most)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._channel.write(data)

    def close(self) -> None:
        """End the program there, and the connection."""
        self._channel.close()
        self._connection.close()

    def said(self) -> str:
        """Return the last of what came on stderr."""
        return self._channel.said()


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
