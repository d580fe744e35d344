"""What the engine's machine does to the disk, step by step: where it can be killed, refused, or raced.

Every call of the `Kernel` is one step, numbered from 1 since `Steps.restart`. A step is atomic and durable: the state
before it and the state after it are the only two that a crash can leave.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.disk import refuse
from tests.fakes.syscalls import Syscalls


class Killed(BaseException):
    """SIGKILL: nothing of the running program continues; what it did to the disk stays."""


@dataclass(frozen=True, slots=True)
class Step:
    """One change that was made (or refused, or never reached because of the kill)."""

    number: int
    primitive: str
    path: bytes


@dataclass(slots=True, kw_only=True)
class Failure:
    """An errno that a primitive will answer. `times` counts down; `path` b"" means any."""

    primitive: str
    code: int
    path: bytes = b""
    times: int = 1


@dataclass(slots=True)
class Steps:
    """Counts the steps of one run of a program and spoils those that a test named."""

    log: list[Step] = field(default_factory=list)
    count: int = 0
    dead: bool = False
    _kill_number: int = 0
    _kill_after: bool = False
    _failures: list[Failure] = field(default_factory=list)
    _races: dict[int, Callable[[], None]] = field(default_factory=dict)

    def restart(self) -> None:
        """A new program starts: steps count from 1 again, no kill is due. Failures and races not yet met stay."""
        self.count, self.dead, self._kill_number = 0, False, 0

    def kill_at(self, number: int, *, after: bool) -> None:
        """Die right before (or right after) step `number`."""
        self._kill_number, self._kill_after = number, after

    def fail(self, failure: Failure) -> None:
        """Let matching steps be refused."""
        self._failures.append(failure)

    def race(self, number: int, change: Callable[[], None]) -> None:
        """Let somebody else make `change` right before step `number`."""
        self._races[number] = change

    def perform(self, primitive: str, path: bytes, effect: Callable[[], None]) -> None:
        """Make the step, or die, or refuse."""
        self.check_alive()
        self.count += 1
        number = self.count
        if number in self._races:
            self._races.pop(number)()
        self._die_if_due(number, after=False)
        self.log.append(Step(number, primitive, path))
        self._refuse_if_told(primitive, path)
        effect()
        self._die_if_due(number, after=True)

    def check_alive(self) -> None:
        """Raise `Killed` in a program that is dead already: its `finally` blocks do not run either."""
        if self.dead:
            raise Killed

    def _die_if_due(self, number: int, *, after: bool) -> None:
        if number == self._kill_number and after == self._kill_after:
            self.dead = True
            raise Killed

    def _refuse_if_told(self, primitive: str, path: bytes) -> None:
        for failure in self._failures:
            if failure.primitive == primitive and failure.path in (b"", path) and failure.times > 0:
                failure.times -= 1
                raise refuse(failure.code, path)


class Kernel:
    """The system calls of the engine's process, each one step."""

    def __init__(self, calls: Syscalls, steps: Steps) -> None:
        self.calls = calls
        self.steps = steps

    def mkdir(self, path: bytes) -> None:
        """Make a folder."""
        self.steps.perform("mkdir", path, lambda: self.calls.mkdir(path))

    def write(self, path: bytes, content: bytes) -> None:
        """Durably write a whole file under a temporary name and rename it over `path`."""
        self.steps.perform("write", path, lambda: self._write_aside(path, content))

    def append(self, path: bytes, content: bytes) -> None:
        """Durably add a record to a file (write and fsync)."""
        self.steps.perform("append", path, lambda: self.calls.append(path, content))

    def rename(self, source: bytes, destination: bytes) -> None:
        """Rename, never over something."""
        self.steps.perform("rename", source, lambda: self.calls.rename(source, destination))

    def unlink(self, path: bytes) -> None:
        """Remove a name."""
        self.steps.perform("unlink", path, lambda: self.calls.unlink(path))

    def rmdir(self, path: bytes) -> None:
        """Remove an empty folder."""
        self.steps.perform("rmdir", path, lambda: self.calls.rmdir(path))

    def fsync(self, path: bytes) -> None:
        """Make a folder's names durable."""
        self.steps.perform("fsync", path, lambda: None)

    def _write_aside(self, path: bytes, content: bytes) -> None:
        partial = path + b".partial"
        self.calls.write(partial, content)
        self.calls.replace(partial, path)
