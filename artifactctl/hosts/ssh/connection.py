"""A connection to another machine, logged in, whose death is noticed."""

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.address import parse_destination
from artifactctl.hosts.ssh.channel import SILENCE, SshChannel
from artifactctl.hosts.ssh.destination import Destination, resolve
from artifactctl.hosts.ssh.dialing import dial_directly, dialed_by_command
from artifactctl.hosts.ssh.failures import ConfigProblem, SessionRefused, Unreachable
from artifactctl.hosts.ssh.handshake import Dial, meet
from artifactctl.hosts.ssh.heartbeat import Heartbeat
from artifactctl.hosts.ssh.host_keys import HostKey
from artifactctl.hosts.ssh.login import AskPassphrase, log_in
from artifactctl.hosts.ssh.pinning import Pin, known_pin

if TYPE_CHECKING:
    from paramiko import Channel as Session
    from paramiko import Transport

OPEN_TIMEOUT = timedelta(seconds=30)
SESSION_END = timedelta(seconds=3)
MOST_JUMPS = 8
_PROHIBITED, _CONNECT_FAILED = 1, 2
_RETRY_SECONDS = 0.1


class Connection:
    """One login. `host_key` is what the machine proved to have; `destination` says where it is."""

    def __init__(
        self,
        transport: "Transport",
        *,
        destination: Destination,
        host_key: HostKey,
        heartbeat: Heartbeat,
        opened: ExitStack,
    ) -> None:
        self._transport = transport
        self._heartbeat = heartbeat
        self._opened = opened
        self._sessions: list[Session] = []
        self.destination = destination
        self.host_key = host_key

    def round_trip_seconds(self) -> float | None:
        """Return how long the machine takes to answer the smallest question; None when it is gone."""
        return self._heartbeat.round_trip_seconds()

    def run(self, command: str, *, silence: timedelta = SILENCE) -> SshChannel:
        """Start a command in the login shell there and return its bytes; SessionRefused when it may not start."""
        from paramiko import SSHException

        session = self._open_session()
        try:
            session.exec_command(command)
        except (SSHException, EOFError, OSError) as error:
            with suppress(EOFError, OSError):  # the link may have gone, and the session with it
                session.close()
            raise self._not_started(error) from error
        return SshChannel(session, why_lost=self.why_lost, silence=silence)

    def why_lost(self) -> str:
        """Return why the connection is no more, "" while it is."""
        if self._heartbeat.lost_after_seconds is not None:
            return f"{self.destination} did not answer for {self._heartbeat.lost_after_seconds:.0f} seconds"
        return "" if self._transport.is_active() else f"the connection to {self.destination} broke"

    def close(self) -> None:
        """Hang up, and end the jumps or the command below."""
        self._heartbeat.stop()
        self._opened.close()

    def forward(self, host: str, port: int, *, timeout: timedelta) -> "Session":
        """Return a connection made from the machine to another one; Unreachable with the machine's reason."""
        from paramiko import ChannelException, SSHException

        try:
            return self._transport.open_channel(
                "direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=timeout.total_seconds()
            )
        except ChannelException as error:
            forbidden = error.code == _PROHIBITED
            raise Unreachable(
                f"{self.destination} does not lead on to {host} port {port}: {printable(error.text)}",
                remedy="its sshd forbids it (AllowTcpForwarding); jump over another machine"
                if forbidden
                else "check the name and port as seen from there",
            ) from error
        except (SSHException, EOFError, OSError) as error:
            raise Unreachable(
                f"{self.destination} does not lead on to {host} port {port}: {self.why_lost() or error}",
                remedy="run the command again",
            ) from error

    def _open_session(self) -> "Session":
        """Open one more; the server may need a moment to notice that an earlier one of ours has ended."""
        from paramiko import ChannelException, SSHException

        give_up = time.monotonic() + SESSION_END.total_seconds()
        while True:
            try:
                session = self._transport.open_session(timeout=OPEN_TIMEOUT.total_seconds())
                self._sessions = [*(each for each in self._sessions if not each.closed), session]
                return session
            except ChannelException as error:
                all_ended = bool(self._sessions) and all(each.closed for each in self._sessions)
                if not all_ended or time.monotonic() > give_up:
                    raise self._no_session(error.code, error.text) from error
                time.sleep(_RETRY_SECONDS)
            except (SSHException, EOFError, OSError) as error:
                raise self._not_started(error) from error

    def _no_session(self, code: int, text: str) -> SessionRefused:
        if code in (_PROHIBITED, _CONNECT_FAILED):
            return SessionRefused(
                f"{self.destination} opens no session for {self.destination.user}: {printable(text)}",
                remedy="its sshd allows no (more) sessions on one connection: raise MaxSessions in sshd_config there, "
                "or use an account that may run commands",
            )
        return SessionRefused(
            f"{self.destination} opens no session: {printable(text)}", remedy="the machine may be out of memory"
        )

    def _not_started(self, error: Exception) -> Unreachable | SessionRefused:
        lost = self.why_lost()
        if lost:
            return Unreachable(lost, remedy="run the command again")
        return SessionRefused(
            f"{self.destination} does not run commands for {self.destination.user}: {printable(str(error))}",
            remedy="use an account that may run commands there",
        )


def open_connection(
    destination: Destination,
    pin: Pin,
    *,
    environment: Mapping[str, str],
    ask_passphrase: AskPassphrase | None = None,
    interval: timedelta | None = None,
    patience: timedelta | None = None,
    depth: int = 0,
) -> Connection:
    """Return a connection to the machine that shows the pinned key, logged in. What is opened on failure is closed."""
    _be_quiet()
    with ExitStack() as opened:
        dial = _way_to(destination, opened, environment=environment, ask_passphrase=ask_passphrase, depth=depth)
        transport, host_key = meet(dial, destination, pin)
        opened.callback(transport.close)
        log_in(transport, destination, ask_passphrase=ask_passphrase)
        return Connection(
            transport,
            destination=destination,
            host_key=host_key,
            heartbeat=Heartbeat(
                transport,
                interval=interval or destination.alive_interval,
                patience=patience or destination.patience,
            ),
            opened=opened.pop_all(),
        )


def _way_to(
    destination: Destination,
    opened: ExitStack,
    *,
    environment: Mapping[str, str],
    ask_passphrase: AskPassphrase | None,
    depth: int,
) -> Dial:
    """Return what makes a connection to the port. What has to be ended after it is added to `opened`."""
    if destination.proxy_command:
        return lambda: opened.enter_context(dialed_by_command(destination))
    if not destination.jumps:
        return lambda: dial_directly(destination)
    if depth >= MOST_JUMPS:
        raise ConfigProblem(f"{destination} is behind more than {MOST_JUMPS} jumps", remedy="look for a circle in them")
    jump = _last_jump(destination, environment)
    nearer = open_connection(
        jump, known_pin(jump), environment=environment, ask_passphrase=ask_passphrase, depth=depth + 1
    )
    opened.callback(nearer.close)
    return lambda: nearer.forward(destination.host, destination.port, timeout=destination.connect_timeout)


def _last_jump(destination: Destination, environment: Mapping[str, str]) -> Destination:
    """Return the jump next to the destination; those before it lead there."""
    *before, last = destination.jumps
    jump = resolve(parse_destination(last), environment=environment)
    return replace(jump, jumps=tuple(before), proxy_command="") if before else jump


def _be_quiet() -> None:
    """Keep paramiko from telling on stderr what is told as an error of ours."""
    logger = logging.getLogger("paramiko")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
