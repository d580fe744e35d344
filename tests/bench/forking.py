"""Runs commands of artifactctl in forks of one process that has its modules loaded already.

Run as a program (`python -m tests.bench.forking DESCRIPTOR`): it answers requests on the listening socket it was given
until its standard input ends. Every command is a process of its own with its own environment, streams, folder and exit
code, which can be killed; several may run at a time. Only the second that Python needs to load modules is saved.
`warm_command_line` is the other end, and `asking` says what goes over the socket.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host

CLOCK_VARIABLE = "BENCH_CLOCK_AHEAD_SECONDS"
UP_VARIABLE = "BENCH_UP_SECONDS"
"""How much longer than it was this machine seems to be up: time that passed, and no clock that was set."""
TRACER_VARIABLE = "BENCH_TRACER"
"""The shell-quoted words of a program such as strace, which gets `-p PID` added and watches from the first step on."""

OTHERS = (
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.dialects.postgresql.psycopg",
    "psycopg",
    "alembic.command",
    "rich.progress",
    "rich.table",
    "click.testing",
)
FIRST_COMMANDS = """\
init
root add {root} --name root
register {root}/old --kind other
register {root}/new --kind other
scan root
ls
verify root/new
supersede root/old --by root/new
why root/old
reclaim root/old --yes --reason warm --waive settled
quarantine restore root/old
reclaim root/old --yes --reason warm --waive settled
quarantine purge root/old --yes
doctor
df
"""


class ClockAhead:
    """The machine's clock, moved."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead

    def now(self) -> datetime:
        """Return the present instant plus the difference."""
        from artifactctl.cli.clock import SystemClock

        return SystemClock().now() + self._ahead


def load_modules() -> None:
    """Import everything that a command could import."""
    package = importlib.import_module("artifactctl")
    for module in pkgutil.walk_packages(package.__path__, "artifactctl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in OTHERS:
        importlib.import_module(name)


def share_statements() -> None:
    """Let an engine on SQLite find what an earlier one compiled: a third of a short command goes into compiling.

    SQLAlchemy keeps compiled statements by engine and dialect object. The dialects of two engines on SQLite are alike;
    those of PostgreSQL learn about their server when they connect, and are left alone.
    """
    from sqlalchemy import Connection, event
    from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite as Dialect
    from sqlalchemy.engine import Engine

    compiled: dict[object, object] = {}

    @event.listens_for(Engine, "engine_connect")
    def give_them(connection: Connection) -> None:
        if isinstance(connection.dialect, Dialect):
            connection.execution_options(compiled_cache=compiled)

    Dialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
    Dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


def warm_up() -> None:
    """Manage and reclaim something once: what is then set up (statements, say) need not be set up in every fork."""
    from artifactctl.cli import main as entry

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-warm-"))
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        for name in ("old", "new"):
            Path(folder, "root", name).mkdir(parents=True)
            Path(folder, "root", name, "data").write_text(name, encoding="utf-8")
        for line in FIRST_COMMANDS.format(root=f"{folder}/root").splitlines():
            with contextlib.suppress(SystemExit):
                entry.program.main(["--catalog", f"{folder}/catalog.db", *line.split()])
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a fork has to run, with the descriptors of its three streams."""

    request: dict[str, Any]
    streams: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A fork that runs: `descriptor` is ready once it has ended, which whoever waits at `connection` is told."""

    process: int
    descriptor: int
    connection: socket.socket

    def report_end(self) -> None:
        """Say how the command ended; nobody may be there any more to hear it."""
        _, status = os.waitpid(self.process, 0)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        self.close()

    def close(self) -> None:
        """Let go of both descriptors."""
        self.connection.close()
        os.close(self.descriptor)


def next_command(listening: socket.socket) -> Command:
    """Answer requests; returns in a fork, once for each, with what it has to run."""
    running: dict[int, Running] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(sys.stdin.fileno(), selectors.EVENT_READ)
        waiting.register(listening, selectors.EVENT_READ)
        while True:
            for ready in [key.fd for key, _ in waiting.select()]:
                if ready == sys.stdin.fileno():
                    sys.exit(0)
                if ready in running:
                    waiting.unregister(ready)
                    running.pop(ready).report_end()
                    continue
                started = start(listening.accept()[0])
                if isinstance(started, Command):
                    for other in running.values():
                        other.close()
                    return started
                running[started.descriptor] = started
                waiting.register(started.descriptor, selectors.EVENT_READ)


def start(connection: socket.socket) -> Running | Command:
    """Fork for the request that comes; in the fork return what it has to run."""
    line, streams, _, _ = socket.recv_fds(connection, 65536, 3)
    while not line.endswith(b"\n"):
        line += connection.recv(65536)
    process = os.fork()
    if process == 0:
        connection.close()
        return Command(request=json.loads(line), streams=tuple(streams))
    for stream in streams:
        os.close(stream)
    connection.sendall(b"%d\n" % process)
    return Running(process=process, descriptor=os.pidfd_open(process), connection=connection)


def become(command: Command) -> None:
    """Take on the streams, folder, environment (what Python reads of it as well) and arguments of the request."""
    for target, stream in enumerate(command.streams):
        os.dup2(stream, target)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = anew(sys.stdin, "r"), anew(sys.stdout, "w"), anew(sys.stderr, "w")
    os.chdir(command.request["cwd"])
    os.environ.clear()
    os.environ.update(command.request["environment"])
    more = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [place for place in more if place and place not in sys.path]
    sys.argv[:] = ["artifactctl", *command.request["words"]]


def anew(stream: TextIO, mode: str) -> TextIO:
    """Open the descriptor of a stream again, whose object remembers whether what used to lie behind it can seek."""
    buffering = 1 if stream is sys.stderr else -1
    return cast(TextIO, open(stream.fileno(), mode, buffering, encoding=stream.encoding, errors=stream.errors))


def run() -> None:
    """Run the command as `python -m artifactctl` does, with a clock of its own where one is asked for."""
    from artifactctl.cli import main as entry
    from artifactctl.cli.surroundings import Surroundings

    ahead, tracer = os.environ.pop(CLOCK_VARIABLE, ""), os.environ.pop(TRACER_VARIABLE, "")
    up = timedelta(seconds=float(os.environ.pop(UP_VARIABLE, "0")))
    if tracer:
        be_traced(shlex.split(tracer))
    if not ahead:
        entry.main()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    clock = ClockAhead(timedelta(seconds=float(ahead)))
    entry.program.main(obj=Surroundings(clock=clock, make_host=lambda around: _up_for_longer(around, up)))


def _up_for_longer(environment: Mapping[str, str], up: timedelta) -> "Host":
    """Return this machine as it will be when it has been up for that much longer."""
    from artifactctl.configuration.account import stand_in_machine_id
    from artifactctl.domain.uptime import Uptime
    from artifactctl.hosts.local import LocalHost

    class Longer(LocalHost):
        def uptime(self) -> Uptime:
            now = super().uptime()
            return replace(now, since_boot=now.since_boot + up)

    return Longer(stand_in_machine_id=stand_in_machine_id(environment))


def be_traced(words: list[str]) -> None:
    """Start the tracer of this process and wait until it has hold of it."""
    tracer = subprocess.Popen([*words, "-p", str(os.getpid())], stdin=subprocess.DEVNULL)
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text(encoding="utf-8"):
        if tracer.poll() is not None:
            raise RuntimeError(f"{words[0]} ended at once with code {tracer.returncode}")
        time.sleep(0.001)
    tracer.returncode = 0  # it ends after us: nothing is left to wait for


def leave(command: Callable[[], object]) -> NoReturn:
    """Run the command and end as the interpreter would, without the half second it takes to unload modules."""
    code: object = 0
    try:
        command()
    except SystemExit as leaving:
        code = leaving.code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    load_modules()
    share_statements()
    warm_up()
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        print("ready", flush=True)
        wanted = next_command(listening)
    become(wanted)
    leave(run)
