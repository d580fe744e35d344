"""A second machine: a process in namespaces of its own (mounts, processes, host name) that answers as a `Host`.

What it mounts and which processes run on it cannot be seen from here, as with a machine behind a network. Requests and
answers are pickles over its pipes; only tests talk to it. For use inside the sandbox.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host
from tests.bench.sandbox import CHECKOUT
from tests.bench.shared_volume import mounted_by_fuse

PROGRAM = Path(__file__).with_name("holding.py")
NAMESPACES = (
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--uts",
    "--mount-proc",
    "--kill-child",
    "--propagation",
    "private",
)


class OtherMachine:
    """The machine as a test holds it: `host` for the program, the rest for what happens there."""

    def __init__(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        self._process = process
        self.name = name
        self.host = cast(Host, _Asked(self))

    def ask(self, what: str, *words: Any, **options: Any) -> Any:
        """Let the process do something and return or raise what came of it; HostFailure when it is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((what, words, options), self._process.stdin)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, ValueError) as lost:
            raise HostFailure(f"the machine {self.name} cannot be reached: the connection was lost") from lost
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def mount(self, backing: Path, place: Path) -> None:
        """Mount the shared folder there, by a daemon of its own."""
        self.ask("mount", backing, place)

    @contextmanager
    def holding(self, way: str, path: Path) -> Iterator[int]:
        """Let a process there use the file or folder in one of the ways of `holding.py`; yields its pid there."""
        process = self.ask("hold", way, path)
        try:
            yield process
        finally:
            self.ask("let_go", process)

    def freeze(self) -> None:
        """Let it answer nothing any more, with every connection still standing."""
        self._process.send_signal(signal.SIGSTOP)
        for child in Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGSTOP)

    def crash(self) -> None:
        """End it at once, with everything on it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # what it was asked last
                    stream.close()


class _Asked:
    """A `Host` whose every method is done over there."""

    def __init__(self, machine: OtherMachine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> Any:
        return lambda *words, **options: self._machine.ask(name, *words, **options)


@contextmanager
def other_machine(name: str) -> Iterator[OtherMachine]:
    """Start a machine called `name`, and end it with the context."""
    command = [*NAMESPACES, sys.executable, "-m", "tests.bench.other_machine", name]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd="/")
    machine = OtherMachine(process, name)
    try:
        machine.ask("identify")
        yield machine
    finally:
        machine.crash()


class _Server:
    """The other end: the machine itself."""

    def __init__(self) -> None:
        self._host = LocalHost()
        self._held: dict[int, subprocess.Popen[bytes]] = {}
        self._mounts: list[Any] = []

    def answer(self, what: str, words: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Do it; an iterator is answered whole."""
        mine: dict[str, Callable[..., Any]] = {"mount": self._mount, "hold": self._hold, "let_go": self._let_go}
        found = mine[what](*words) if what in mine else getattr(self._host, what)(*words, **options)
        return list(found) if isinstance(found, Iterator) else found

    def _mount(self, backing: Path, place: Path) -> None:
        mount = mounted_by_fuse(backing, place)
        mount.__enter__()
        self._mounts.append(mount)  # it ends with the namespace

    def _hold(self, way: str, path: Path) -> int:
        process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM), way, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        if process.stdout.readline() != b"held\n":
            raise HostFailure(f"nothing holds {path}")
        self._held[process.pid] = process
        return process.pid

    def _let_go(self, number: int) -> None:
        self._held.pop(number).communicate()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until nobody asks any more."""
    server = _Server()
    while True:
        try:
            what, words, options = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = server.answer(what, words, options)
        except Exception as failure:  # noqa: BLE001 - whoever asked raises it
            answer = failure
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    socket.sethostname(sys.argv[1])
    serve(sys.stdin.buffer, sys.stdout.buffer)
