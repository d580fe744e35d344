"""What a watch over a writer says while it runs, and when it has ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import display_path, printable
from artifactctl.report.sizes import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """How a watch ended (`writer_ended` or `stopped`) and what it did. `paused_seconds` over all pauses."""

    pid: int
    command: str
    end: str
    pauses: int
    paused_seconds: float
    lowest_available_bytes: int | None


def watching(pid: int, command: str, others: int, path: bytes, *, pause_below_bytes: int, resume_above: int) -> str:
    """Return what the watch will do."""
    return (
        f"watching process {pid} ({printable(command)}){_and_others(others)}: paused below "
        f"{format_bytes(pause_below_bytes)} on the volume of {display_path(path)}, going on above "
        f"{format_bytes(resume_above)}"
    )


def not_writing(pid: int, path: bytes) -> str:
    """Return the warning that the watch may be over the wrong process or volume."""
    return f"process {pid} has no file open for writing on the volume of {display_path(path)} right now"


def paused(pid: int, command: str, others: int, available_bytes: int, mount: bytes, *, resume_above_bytes: int) -> str:
    """Return that the writer was stopped, and until when."""
    return (
        f"paused process {pid} ({printable(command)}){_and_others(others)}: {format_bytes(available_bytes)} left on "
        f"{display_path(mount)}; it goes on above {format_bytes(resume_above_bytes)}"
    )


def go_on_by_hand(pids: Sequence[int]) -> str:
    """Return what to type should the watch itself be killed."""
    return f"should this watch be killed, `kill -CONT {' '.join(map(str, pids))}` lets it go on"


def going_on(pid: int, command: str, available_bytes: int) -> str:
    """Return that there is room again."""
    return f"process {pid} ({printable(command)}) goes on: {format_bytes(available_bytes)} left"


def left_running(pid: int, command: str) -> str:
    """Return that nothing stays stopped."""
    return f"process {pid} ({printable(command)}) goes on: the watch has ended and nothing pauses it any more"


def result_text(result: WatchResult) -> str:
    """Return one line about a watch that has ended."""
    why = "has ended" if result.end == "writer_ended" else "is running and no longer watched"
    pauses = (
        f"paused {result.pauses} time(s), {result.paused_seconds:.0f} s in all" if result.pauses else "never paused"
    )
    return f"process {result.pid} ({printable(result.command)}) {why}; {pauses}"


def result_payload(result: WatchResult) -> dict[str, Any]:
    """Return a watch that has ended as JSON."""
    return {
        "pid": result.pid,
        "command": result.command,
        "end": result.end,
        "pauses": result.pauses,
        "paused_seconds": round(result.paused_seconds, 3),
        "lowest_available_bytes": result.lowest_available_bytes,
    }


def _and_others(others: int) -> str:
    if others <= 0:
        return ""
    return " and one process it started" if others == 1 else f" and {others} processes it started"
