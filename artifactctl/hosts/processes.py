"""Processes of a machine that can be paused: signals are no managed storage, so this is no part of `Host`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from artifactctl.hosts.calling import Calls
from artifactctl.hosts.failing import asking


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcess:
    """One process for as long as it lives: its number and when it started, in clock ticks since boot."""

    pid: int
    started_ticks: int
    command: str
    is_stopped: bool
    is_kernel_thread: bool = False


class Processes:
    """The processes of the machine that is asked. What was stopped goes on when the connection to it ends."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def own_line(self) -> tuple[int, ...]:
        """Return the process that acts for us there and everything above it: stopping one of them would stop us."""
        with asking("looking for our own processes"):
            return tuple(self._calls.ask("own_line"))

    def find(self, pid: int) -> RunningProcess | None:
        """Return a running process, None when there is none."""
        with asking(f"looking for process {pid}"):
            seen = self._calls.ask("process", pid)
        return None if seen is None else _as_process(seen)

    def is_running(self, process: RunningProcess) -> bool:
        """Whether this very process still runs; another one with its number is another one."""
        found = self.find(process.pid)
        return found is not None and found.started_ticks == process.started_ticks

    def may_signal(self, process: RunningProcess) -> bool:
        """Whether this user may pause it."""
        with asking(f"asking whether process {process.pid} may be paused"):
            try:
                return bool(self._calls.ask("may_signal", process.pid))
            except ProcessLookupError:
                return False

    def family(self, process: RunningProcess) -> tuple[RunningProcess, ...]:
        """Return the process and all its descendants, parents first; () when it has ended."""
        if not self.is_running(process):
            return ()
        with asking(f"looking for the children of process {process.pid}"):
            return tuple(_as_process(seen) for seen in self._calls.ask("family", process.pid))

    def stop(self, processes: Iterable[RunningProcess]) -> tuple[RunningProcess, ...]:
        """Stop them in order; return those that were still there. Those of other users are left out."""
        return tuple(each for each in processes if self._signal("stop_process", each))

    def resume(self, processes: Iterable[RunningProcess]) -> tuple[RunningProcess, ...]:
        """Let them go on; return those that were still there."""
        return tuple(each for each in processes if self._signal("resume_process", each))

    def _signal(self, name: str, process: RunningProcess) -> bool:
        with asking(f"signalling process {process.pid}"):
            try:
                return bool(self._calls.ask(name, process.pid, process.started_ticks))
            except PermissionError:  # a child that changed its user: not ours to stop, and the caller says who was
                return False


def _as_process(seen: Any) -> RunningProcess:
    """Return what the probe's `Seen` tells, which over a wire is a list."""
    pid, _, started, state, command, is_kernel_thread = seen
    return RunningProcess(
        pid=pid,
        started_ticks=started,
        command=command,
        is_stopped=state in (b"T", b"t"),
        is_kernel_thread=is_kernel_thread,
    )
