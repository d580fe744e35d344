"""Reaching a machine's ssh port: directly, or through the command that ssh_config names."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.destination import Destination
from artifactctl.hosts.ssh.failures import Unreachable

_END_SECONDS = 5


def dial_directly(destination: Destination) -> socket.socket:
    """Return a connection to the port; Unreachable with the reason."""
    place = (destination.host, destination.port)
    try:
        connected = socket.create_connection(place, timeout=destination.connect_timeout.total_seconds())
    except socket.gaierror as error:
        raise Unreachable(
            f"{destination}: nobody knows the name {destination.host}",
            remedy="check the spelling, or give it a HostName in ~/.ssh/config",
        ) from error
    except TimeoutError as error:
        raise Unreachable(
            f"{destination}: no answer within {destination.connect_timeout.total_seconds():g} seconds",
            remedy="check that the machine is up and that nothing in between drops connections to this port",
        ) from error
    except ConnectionRefusedError as error:
        raise Unreachable(
            f"{destination}: nothing listens on port {destination.port}",
            remedy="check the port, and that sshd runs there",
        ) from error
    except OSError as error:
        raise Unreachable(
            f"{destination}: {error.strerror or error}", remedy="check the network between here and there"
        ) from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


@contextmanager
def dialed_by_command(destination: Destination) -> Iterator[socket.socket]:
    """Yield the near end of what the ProxyCommand carries; the command ends with the context."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {destination.proxy_command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise Unreachable(
                f"{destination}: its ProxyCommand cannot be started: {error.strerror}",
                remedy=f"try it by hand: {printable(destination.proxy_command)}",
            ) from error
        theirs.close()
        try:
            yield ours
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
