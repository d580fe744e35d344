"""The command line without its start-up time: each command a fork of a process that has the modules loaded."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from tests.bench import asking
from tests.bench.command_line import CommandLine, Outcome, Word
from tests.bench.forking import CLOCK_VARIABLE, UP_VARIABLE
from tests.bench.sandbox import CHECKOUT

START_SECONDS = 120


class ServerTrouble(RuntimeError):
    """The process that forks the commands ended or never started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkServer:
    """The running process; `address` is the socket on which it listens."""

    address: Path

    def run(self, request: Mapping[str, object], streams: Sequence[int], *, timeout_seconds: float) -> int:
        """Run one command to its end and return its exit code, negative where a signal ended it."""
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(START_SECONDS)
            channel.connect(str(self.address))
            process = asking.ask(channel, request, streams)
            channel.settimeout(timeout_seconds)
            try:
                return asking.answer(channel)
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                channel.settimeout(START_SECONDS)
                asking.answer(channel)
                raise


@contextmanager
def fork_server(*, prefix: Sequence[str] = ()) -> Iterator[ForkServer]:
    """Start the process (by way of `prefix`, such as `setpriv`) and end it with the context."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"}
    with ExitStack() as stack:
        address = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-forks-"))) / "socket"
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(address))
        listening.listen()
        command = [*prefix, sys.executable, "-m", "tests.bench.forking", str(listening.fileno())]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd="/",
            pass_fds=[listening.fileno()],
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process, process.stdout as said:
            if said.readline() != b"ready\n":
                raise ServerTrouble("the process that forks the commands did not start")
            yield ForkServer(address=address)
            process.stdin.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmCommandLine(CommandLine):
    """As `CommandLine`, faster. `clock_ahead` moves the clock that the command sees; where `is_later`, the time passed.

    Otherwise the clock was set, and the machine has been up no longer.
    """

    server: ForkServer
    clock_ahead: timedelta = timedelta(0)
    is_later: bool = False

    @property
    def program(self) -> list[Word]:
        """What a shell starts to run `artifactctl` with the words that follow."""
        return [sys.executable, "-I", "-S", Path(asking.__file__), self.server.address]

    def __call__(
        self,
        *words: Word,
        typed: str = "",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = 120,
    ) -> Outcome:
        """Run `artifactctl` with `words` to its end, as `CommandLine` does."""
        ahead = str(self.clock_ahead.total_seconds())
        extra = {CLOCK_VARIABLE: ahead} if self.clock_ahead else {}
        extra |= {UP_VARIABLE: ahead} if self.is_later else {}
        with ExitStack() as stack:
            given, output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(os.fsencode(typed))
            given.seek(0)
            code = self.server.run(
                {
                    "words": [os.fsdecode(word) for word in words],
                    "cwd": str(cwd or self.cwd),
                    "environment": {**self.environment, **extra, **(environment or {})},
                },
                [stream.fileno() for stream in (given, output, errors)],
                timeout_seconds=timeout_seconds,
            )
            return Outcome(code=code, stdout=_written(output), stderr=_written(errors))


def _written(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", errors="surrogateescape")
