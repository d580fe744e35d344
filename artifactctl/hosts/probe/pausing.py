"""Stopping and continuing processes, each named by its number and its start: a number alone is used again.

With pidfd (Linux 5.3, Python 3.9) the signal reaches exactly the process that was looked at; elsewhere its start is
compared right before the signal.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from artifactctl.hosts.probe.processes import process_numbers

_ENDED = (FileNotFoundError, ProcessLookupError)
_KERNEL_THREAD = 0x00200000
_OVER = b"ZX"


class Seen(NamedTuple):
    """One process as /proc/PID/stat tells it; `started` is in clock ticks since boot."""

    process: int
    parent: int
    started: int
    state: bytes
    command: str
    is_kernel_thread: bool


def look(process: int) -> Optional[Seen]:
    """Return a process, None when there is none (one that has ended and was not yet waited for is none)."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            line = file.read()
    except _ENDED:
        return None
    before, _, after = line.rpartition(b")")  # the name may hold blanks and parentheses
    fields = after.split()
    if fields[0] in _OVER:
        return None
    command = before.partition(b"(")[2].decode("utf-8", "backslashreplace")
    is_kernel_thread = bool(int(fields[6]) & _KERNEL_THREAD)
    return Seen(process, int(fields[1]), int(fields[19]), fields[0], command, is_kernel_thread)


def family(process: int) -> List[Seen]:
    """Return the process and everything that descends from it, parents first; [] when it is not there."""
    top = look(process)
    if top is None:
        return []
    children: Dict[int, List[Seen]] = {}
    for number in process_numbers():
        seen = look(number)
        if seen is not None:
            children.setdefault(seen.parent, []).append(seen)
    found = [top]
    for member in found:  # grows while it is gone through
        found.extend(child for child in children.get(member.process, ()) if child not in found)
    return found


def ancestors(process: int) -> List[int]:
    """Return the process and everything above it, up to process 1."""
    found: List[int] = []
    current: Optional[Seen] = look(process)
    while current is not None and current.process not in found:
        found.append(current.process)
        current = look(current.parent)
    return found


def own_line() -> List[int]:
    """Return this process and everything above it: stopping one of them would stop us."""
    return ancestors(os.getpid())


def may_signal(process: int) -> bool:
    """Whether this user may signal it; ProcessLookupError when it is not there."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return False
    return True


def stop(process: int, started: int) -> bool:
    """SIGSTOP; returns whether the process that started then is still there. PermissionError."""
    return _signal(process, started, signal.SIGSTOP)


def resume(process: int, started: int) -> bool:
    """SIGCONT, the same way."""
    return _signal(process, started, signal.SIGCONT)


def _signal(process: int, started: int, number: int) -> bool:
    try:
        with _handle(process) as handle:
            seen = look(process)
            if seen is None or seen.started != started:
                return False
            if handle is None:
                os.kill(process, number)
            else:
                _pidfd_send(handle, number)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _handle(process: int) -> Iterator[Optional[int]]:
    opened = getattr(os, "pidfd_open", None)
    if opened is None or not hasattr(signal, "pidfd_send_signal"):
        yield None
        return
    try:
        handle: int = opened(process)
    except ProcessLookupError:
        raise
    except OSError:  # a kernel without it
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _pidfd_send(handle: int, number: int) -> None:
    send: Any = getattr(signal, "pidfd_send_signal")  # noqa: B009 - not there in the oldest Python that this runs on
    send(handle, number)
