"""The bytes of one program on another machine: `Channel` of the wire, over a session of a connection."""

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from artifactctl.domain.text import printable
from artifactctl.hosts.wire.channel import ChannelLost

if TYPE_CHECKING:
    from paramiko import Channel as Session

SILENCE = timedelta(seconds=60)
_KEPT_BYTES = 16 * 1024
_PIECE_BYTES = 32 * 1024


class SshChannel:
    """`Channel` of `hosts.wire`. `why_lost` says what became of the connection, "" while it is well.

    What the program writes to its standard error is read all the time: left alone, three megabytes of it would fill the
    window that both streams share, and the answer would never come.
    """

    def __init__(self, session: "Session", *, why_lost: Callable[[], str], silence: timedelta = SILENCE) -> None:
        self._session = session
        self._why_lost = why_lost
        self._silence = silence
        self._put_back = b""
        self._afterwards = ExitStack()
        self._errors = bytearray()
        self._errors_read = threading.Event()
        self._reader = threading.Thread(target=self._read_errors, name="artifactctl-ssh-stderr", daemon=True)
        session.settimeout(silence.total_seconds())
        self._reader.start()

    def put_back(self, data: bytes) -> None:
        """Let the next `read` begin with `data`, which was read too far ahead."""
        self._put_back = data + self._put_back

    def wait_at_most(self, silence: timedelta) -> None:
        """Change for how long nothing may be heard."""
        self._silence = silence
        self._session.settimeout(silence.total_seconds())

    def read(self, at_most: int) -> bytes:
        """Return what has come, b"" at its end; ChannelLost when the link broke, or nothing came for too long."""
        if self._put_back:
            received, self._put_back = self._put_back[:at_most], self._put_back[at_most:]
            return received
        try:
            received = self._session.recv(at_most)
        except TimeoutError as error:
            raise ChannelLost(f"nothing was heard for {self._silence.total_seconds():g} seconds") from error
        except OSError as error:
            raise ChannelLost(self._why_lost() or str(error)) from error
        if not received and not self._session.eof_received:
            raise ChannelLost(self._why_lost() or "the connection was closed")
        return received

    def write(self, data: bytes) -> None:
        """Send all of it; ChannelLost when the link broke, or the far side took nothing for too long."""
        try:
            self._session.sendall(data)
        except TimeoutError as error:
            raise ChannelLost(f"nothing was taken for {self._silence.total_seconds():g} seconds") from error
        except (OSError, EOFError) as error:
            raise ChannelLost(self._why_lost() or str(error)) from error

    def end_input(self) -> None:
        """Tell the program that nothing more comes; it may still answer."""
        try:
            self._session.shutdown_write()
        except (OSError, EOFError) as error:
            raise ChannelLost(self._why_lost() or str(error)) from error

    def when_closed(self, then: Callable[[], None]) -> None:
        """Do something at `close`, once: what the session needed goes with it."""
        self._afterwards.callback(then)

    def close(self) -> None:
        """End the session; the program sees the end of its input."""
        with suppress(EOFError, OSError):  # the link went first, and the session with it
            self._session.close()
        self._afterwards.close()

    def said(self) -> str:
        """Return the last that the program wrote to its standard error, printable line by line."""
        text = bytes(self._errors).decode("utf-8", "surrogateescape")
        return "\n".join(map(printable, text.splitlines())).strip()

    def exit_status(self, deadline: timedelta) -> int | None:
        """Return how the program ended, with all of `said` read; None when a signal ended it or nobody knows."""
        self._errors_read.wait(deadline.total_seconds())
        if not self._session.status_event.wait(deadline.total_seconds()):
            return None
        status = self._session.recv_exit_status()
        return status if status >= 0 else None

    def _read_errors(self) -> None:
        while True:
            try:
                received = self._session.recv_stderr(_PIECE_BYTES)
            except TimeoutError:
                continue
            except OSError:
                received = b""
            if not received:
                self._errors_read.set()
                return
            self._errors += received
            del self._errors[:-_KEPT_BYTES]
