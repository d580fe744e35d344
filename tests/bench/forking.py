"""Runs commands of artifactctl in forks of one process that has its modules loaded already.

Run as a program (`python -m tests.bench.forking DESCRIPTOR`): it answers requests on the socket it was given until the
other end closes. Every command is a process of its own with its own environment, streams, folder and exit code, which
can be killed; only the second that Python needs to load modules is saved. `warm_command_line` is the other end.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NoReturn

CLOCK_VARIABLE = "BENCH_CLOCK_AHEAD_SECONDS"
OTHERS = ("sqlalchemy.dialects.sqlite", "alembic.command", "rich.progress", "rich.table", "click.testing")


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


def warm_up() -> None:
    """Use a catalog once: what is then set up (mappers, compiled statements) need not be set up in every fork."""
    from artifactctl.cli import main as entry

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-warm-"))
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        for words in (["init"], ["ls"], ["doctor"]):
            with contextlib.suppress(SystemExit):
                entry.program.main(["--catalog", f"{folder}/catalog.db", *words])
    gc.collect()
    gc.freeze()


def next_command(channel: socket.socket) -> dict[str, Any]:
    """Answer requests; returns in a fork, once for each, with what it has to run."""
    lines = channel.makefile("rb")
    while line := lines.readline():
        request: dict[str, Any] = json.loads(line)
        process = os.fork()
        if process == 0:
            lines.close()
            channel.close()
            return request
        channel.sendall(b"%d\n" % process)
        _, status = os.waitpid(process, 0)
        channel.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    lines.close()
    sys.exit(0)


def become(request: dict[str, Any]) -> None:
    """Take on the streams, folder, environment and arguments of the request."""
    for target, (path, flags) in enumerate(
        ((request["stdin"], os.O_RDONLY), (request["stdout"], os.O_WRONLY), (request["stderr"], os.O_WRONLY))
    ):
        opened = os.open(path, flags)
        os.dup2(opened, target)
        os.close(opened)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = ["artifactctl", *request["words"]]


def run() -> None:
    """Run the command as `python -m artifactctl` does, with a clock of its own where one is asked for."""
    from artifactctl.cli import main as entry
    from artifactctl.cli.surroundings import Surroundings

    ahead = os.environ.pop(CLOCK_VARIABLE, "")
    if not ahead:
        entry.main()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    entry.program.main(obj=Surroundings(clock=ClockAhead(timedelta(seconds=float(ahead)))))


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
    warm_up()
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        ours.sendall(b"ready\n")
        wanted = next_command(ours)
    become(wanted)
    leave(run)
