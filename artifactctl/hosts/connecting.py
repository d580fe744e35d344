"""Connections to machines that the catalog knows, and to new ones.

Nothing of Linux and no paramiko is imported before a connection is made: people connect from Macs as well.
"""

from collections.abc import Callable, Mapping
from socket import gethostname
from typing import cast

from artifactctl.domain.errors import HostRefused
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.ssh.address import Address, parse_address
from artifactctl.hosts.ssh.connection import Connection, open_connection
from artifactctl.hosts.ssh.coreutils import CoreutilsHost
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.failures import PythonMissing
from artifactctl.hosts.ssh.host_keys import HostKey
from artifactctl.hosts.ssh.pinning import Pin, given_pin, known_pin, stored_pin
from artifactctl.hosts.ssh.python import start_python

AskPassphrase = Callable[[str], str]


def connect(known: KnownHost, *, environment: Mapping[str, str]) -> Host:
    """Return a machine of the catalog, connected: the whole of `Host` where it has Python, df and du where not.

    `close` hangs up. HostRefused with what differs when another machine answers; HostFailure when none can be asked.
    """
    connection = reach(known, environment=environment)
    try:
        host = _host_on(connection, known)
        machine_id = host.identify().machine_id
        if machine_id != known.machine_id:
            raise HostRefused(
                f"{known.address} is not the machine {known.name} that the catalog knows: its machine id is "
                f"{machine_id or 'none'}, and {known.name} has {known.machine_id}",
                remedy="a reinstalled or exchanged machine is another one: `artifactctl host add` under another name",
            )
    except BaseException:
        connection.close()
        raise
    return host


def _host_on(connection: Connection, known: KnownHost) -> Host:
    from artifactctl.hosts.remote import RemoteHost
    from artifactctl.hosts.wire.bootstrap import CODE
    from artifactctl.hosts.wire.greeting import Manners

    patience = connection.destination.patience
    try:
        # Twice: that the machine is gone is noticed by the connection first; this is for a program that hangs.
        channel = start_python(connection, CODE, sudo=known.uses_sudo, silence=2 * patience)
    except PythonMissing:
        return cast(Host, CoreutilsHost(connection, name=known.name))
    channel.when_closed(connection.close)
    manners = Manners(asker=f"artifactctl on {gethostname()}", silence_seconds=patience.total_seconds())
    return RemoteHost(channel, machine=known.name, manners=manners)


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
