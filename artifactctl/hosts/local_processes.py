"""Processes of this machine that can be paused: signals are no managed storage, so this is no part of `Host`."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from artifactctl.hosts.probe import pausing


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcess:
    """One process for as long as it lives: its number and when it started, in clock ticks since boot."""

    pid: int
    started_ticks: int
    command: str
    is_stopped: bool
    is_kernel_thread: bool = False


class LocalProcesses:
    """The processes of the machine the program runs on."""

    def own_line(self) -> tuple[int, ...]:
        """Return this process and everything above it: stopping one of them would stop us or our terminal."""
        return tuple(pausing.ancestors(os.getpid()))

    def find(self, pid: int) -> RunningProcess | None:
        """Return a running process, None when there is none."""
        seen = pausing.look(pid)
        return None if seen is None else _as_process(seen)

    def is_running(self, process: RunningProcess) -> bool:
        """Whether this very process still runs; another one with its number is another one."""
        seen = pausing.look(process.pid)
        return seen is not None and seen.started == process.started_ticks

    def may_signal(self, process: RunningProcess) -> bool:
        """Whether this user may pause it."""
        try:
            return pausing.may_signal(process.pid)
        except ProcessLookupError:
            return False

    def family(self, process: RunningProcess) -> tuple[RunningProcess, ...]:
        """Return the process and all its descendants, parents first; () when it has ended."""
        if not self.is_running(process):
            return ()
        return tuple(_as_process(seen) for seen in pausing.family(process.pid))

    def stop(self, processes: Iterable[RunningProcess]) -> tuple[RunningProcess, ...]:
        """Stop them in order; return those that were still there. Those of other users are left out."""
        return tuple(each for each in processes if _done(pausing.stop, each))

    def resume(self, processes: Iterable[RunningProcess]) -> tuple[RunningProcess, ...]:
        """Let them go on; return those that were still there."""
        return tuple(each for each in processes if _done(pausing.resume, each))


def _done(act: Callable[[int, int], bool], process: RunningProcess) -> bool:
    try:
        return act(process.pid, process.started_ticks)
    except PermissionError:  # a child that changed its user: it is not ours to stop, and the caller says who was
        return False


def _as_process(seen: pausing.Seen) -> RunningProcess:
    return RunningProcess(
        pid=seen.process,
        started_ticks=seen.started,
        command=seen.command,
        is_stopped=seen.state in (b"T", b"t"),
        is_kernel_thread=seen.is_kernel_thread,
    )
