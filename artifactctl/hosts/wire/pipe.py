"""A channel to a process on this machine: an agent under another account, by sudo, or one to test with."""

import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from artifactctl.hosts.wire.channel import ChannelLost, agent_ended

SILENCE_SECONDS = 60.0
END_SECONDS = 5.0
_KEPT_BYTES = 4096
_LOOK_UP_SECONDS = 0.5


class PipeChannel:
    """The three pipes of a process, which is started at once; ChannelLost when it cannot be."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        silence_seconds: float = SILENCE_SECONDS,
        end_seconds: float = END_SECONDS,
    ) -> None:
        pipe = subprocess.PIPE
        try:
            # a session of its own: Ctrl-C in the terminal is for us, and we tell the agent
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise ChannelLost(f"cannot start {words[0]}: {error.strerror}") from error
        self._silence_seconds = silence_seconds
        self._end_seconds = end_seconds
        self._in, self._out, self._err = _pipes(self._process)
        os.set_blocking(self._in.fileno(), False)
        self._is_closed = threading.Event()
        self._reading, self._writing, self._closing = threading.Lock(), threading.Lock(), threading.Lock()
        self._said = b""
        # whoever does not listen to its errors makes it wait for ever with its answers
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    def read(self, at_most: int) -> bytes:
        """Return what came, b"" at the end; ChannelLost after `silence_seconds` without anything."""
        ends_at = time.monotonic() + self._silence_seconds
        with self._reading:
            while not self._is_closed.is_set():
                if select.select([self._out], [], [], _LOOK_UP_SECONDS)[0]:
                    return os.read(self._out.fileno(), at_most)
                if time.monotonic() >= ends_at:
                    raise ChannelLost(f"nothing was heard for {self._silence_seconds:g} seconds")
        return b""

    def write(self, data: bytes) -> None:
        """Send all of it; ChannelLost when the process has closed its input, or takes nothing for too long."""
        rest = memoryview(data)
        ends_at = time.monotonic() + self._silence_seconds
        with self._writing:
            while rest:
                if self._is_closed.is_set():
                    raise ChannelLost("the channel is closed")
                try:
                    rest = rest[os.write(self._in.fileno(), rest) :]
                except BlockingIOError:
                    select.select([], [self._in], [], _LOOK_UP_SECONDS)
                except BrokenPipeError as error:
                    with suppress(subprocess.TimeoutExpired):  # then it only closed its input
                        self._process.wait(_LOOK_UP_SECONDS)
                    raise ChannelLost(agent_ended(self.said())) from error
                except OSError as error:
                    raise ChannelLost(f"it takes nothing any more: {error.strerror}") from error
                if time.monotonic() >= ends_at:
                    raise ChannelLost(f"it took nothing for {self._silence_seconds:g} seconds")

    def close(self) -> None:
        """Close its input, which ends an agent; what has not ended in a few seconds is killed."""
        self._is_closed.set()
        with self._closing:
            with self._writing:
                self._in.close()
            self._await_end()
            with self._reading:
                self._out.close()

    def said(self) -> str:
        """Return the last of its standard error."""
        if self._process.poll() is not None:
            self._listener.join(_LOOK_UP_SECONDS)  # its last words may still be in the pipe
        return self._said.decode("utf-8", "replace")

    def _await_end(self) -> None:
        try:
            self._process.wait(self._end_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        with self._err:
            while piece := os.read(self._err.fileno(), 64 << 10):
                self._said = (self._said + piece)[-_KEPT_BYTES:]


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr
