"""The command line without its start-up time: each command a fork of a process that has the modules loaded."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.bench.command_line import CommandLine, Outcome, Word
from tests.bench.forking import CLOCK_VARIABLE
from tests.bench.sandbox import CHECKOUT

START_SECONDS = 120


class ServerTrouble(RuntimeError):
    """The process that forks the commands ended or never started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkServer:
    """The running process; `channel` is our end of its socket."""

    channel: socket.socket

    def run(self, request: Mapping[str, object], *, timeout_seconds: float) -> int:
        """Run one command to its end and return its exit code, negative where a signal ended it."""
        self.channel.settimeout(timeout_seconds)
        self.channel.sendall(json.dumps(request).encode("ascii") + b"\n")
        process = int(self._line())
        try:
            return int(self._line())
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self.channel.settimeout(START_SECONDS)
            self._line()
            raise

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            received = self.channel.recv(1)
            if not received:
                raise ServerTrouble("the process that forks the commands is gone")
            line += received
        return line


@contextmanager
def fork_server(*, prefix: Sequence[str] = ()) -> Iterator[ForkServer]:
    """Start the process (by way of `prefix`, such as `setpriv`) and end it with the context."""
    ours, theirs = socket.socketpair()
    command = [*prefix, sys.executable, "-m", "tests.bench.forking", str(theirs.fileno())]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"}
    with ours, theirs:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env=environment, cwd="/", pass_fds=[theirs.fileno()]
        )
        theirs.close()
        server = ForkServer(channel=ours)
        ours.settimeout(START_SECONDS)
        if server._line() != b"ready\n":
            raise ServerTrouble("the process that forks the commands did not start")
        yield server
        ours.close()
        process.wait(timeout=START_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmCommandLine(CommandLine):
    """As `CommandLine`, faster. `clock_ahead` moves the clock that the command sees."""

    server: ForkServer
    clock_ahead: timedelta = timedelta(0)

    def __call__(
        self,
        *words: Word,
        typed: str = "",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = 120,
    ) -> Outcome:
        """Run `artifactctl` with `words` to its end, as `CommandLine` does."""
        extra = {CLOCK_VARIABLE: str(self.clock_ahead.total_seconds())} if self.clock_ahead else {}
        with tempfile.TemporaryDirectory(prefix="bench-streams-") as folder:
            streams = {name: os.path.join(folder, name) for name in ("stdin", "stdout", "stderr")}
            for path in streams.values():
                Path(path).touch(mode=0o666)
                os.chmod(path, 0o666)
            os.chmod(folder, 0o755)
            Path(streams["stdin"]).write_bytes(os.fsencode(typed))
            code = self.server.run(
                {
                    **streams,
                    "words": [os.fsdecode(word) for word in words],
                    "cwd": str(cwd or self.cwd),
                    "environment": {**self.environment, **extra, **(environment or {})},
                },
                timeout_seconds=timeout_seconds,
            )
            output, errors = (
                Path(streams[name]).read_bytes().decode("utf-8", errors="surrogateescape")
                for name in ("stdout", "stderr")
            )
        return Outcome(code=code, stdout=output, stderr=errors)
