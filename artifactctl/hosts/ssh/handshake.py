"""The first words with a machine: agree on keys, and go no further unless its own is a pinned one."""

from collections.abc import Callable
from datetime import timedelta
from socket import socket
from typing import TYPE_CHECKING

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.destination import Destination
from artifactctl.hosts.ssh.failures import Unreachable
from artifactctl.hosts.ssh.host_keys import EVERY_ALGORITHM, HostKey
from artifactctl.hosts.ssh.pinning import Pin, changed, unknown

if TYPE_CHECKING:
    from paramiko import Channel, Transport

LOGIN_TIMEOUT = timedelta(seconds=60)

Dial = Callable[[], "socket | Channel"]


class _NoSuchKey(Exception):
    """The machine has no key of the kinds that were asked for."""


def meet(dial: Dial, destination: Destination, pin: Pin) -> tuple["Transport", HostKey]:
    """Return a connection to the machine, not logged in yet, and its key, which is a pinned one.

    HostKeyUnknown when nothing is pinned, HostKeyRefused when the machine shows other keys; then it is hung up on.
    """
    shown = []
    for algorithms in pin.attempts():
        try:
            transport, offered = _shake_hands(dial(), destination, algorithms)
        except _NoSuchKey:
            continue
        if pin.accepts(offered):
            return transport, offered
        transport.close()
        if not pin.keys and not pin.fingerprint:
            raise unknown(destination, offered)
        shown.append(offered)
    raise changed(destination, pin, tuple(shown) or _whatever_it_shows(dial, destination))


def _whatever_it_shows(dial: Dial, destination: Destination) -> tuple[HostKey, ...]:
    """Return the key the machine would show to somebody who asks for none in particular, to name it in a message."""
    try:
        transport, offered = _shake_hands(dial(), destination, EVERY_ALGORITHM)
    except _NoSuchKey:
        return ()
    transport.close()
    return (offered,)


def _shake_hands(
    wire: "socket | Channel", destination: Destination, algorithms: tuple[str, ...]
) -> tuple["Transport", HostKey]:
    from paramiko import SSHException, Transport
    from paramiko.ssh_exception import IncompatiblePeer

    transport = Transport(wire)
    try:
        transport.daemon = True
        timeout = destination.connect_timeout.total_seconds()
        transport.banner_timeout = transport.handshake_timeout = timeout
        transport.auth_timeout = LOGIN_TIMEOUT.total_seconds()
        transport.get_security_options().key_types = algorithms
        transport.start_client(timeout=2 * timeout)
        key = transport.get_remote_server_key()
        return transport, HostKey(type=key.get_name(), blob=key.asbytes())
    except IncompatiblePeer as error:
        transport.close()
        if "host key" in str(error):
            raise _NoSuchKey from error
        raise _unreachable(destination, str(error)) from error
    except (SSHException, EOFError, OSError) as error:
        transport.close()
        raise _unreachable(destination, str(error)) from error
    except BaseException:
        transport.close()
        raise


def _unreachable(destination: Destination, reason: str) -> Unreachable:
    silent = "banner" in reason or not reason
    what = "the connection was made, but no ssh server answers" if silent else f"no agreement: {printable(reason)}"
    return Unreachable(
        f"{destination}: {what}",
        remedy=f"try `ssh -v -p {destination.port} {destination.user}@{destination.host}`; "
        "a machine that is frozen, or refuses new connections for being busy, looks like this",
    )
