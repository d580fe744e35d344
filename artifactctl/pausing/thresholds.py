"""When to pause and when to go on: two thresholds apart, so that a writer at the edge is not stopped every second."""

from dataclasses import dataclass
from enum import StrEnum

from artifactctl.domain.errors import UsageError
from artifactctl.domain.observation import VolumeUsage
from artifactctl.report.sizes import format_bytes

LONGEST_WAIT_SECONDS = 1.0
SHORTEST_WAIT_SECONDS = 0.05
_LOOKS_BEFORE_THE_EDGE = 4


class Step(StrEnum):
    """What follows from one look at the volume."""

    NOTHING = "nothing"
    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Bytes that a writer may still use. Between the two nothing changes."""

    pause_below_bytes: int
    resume_above_bytes: int

    def __post_init__(self) -> None:
        if self.pause_below_bytes <= 0:
            raise UsageError("--pause-below 0 would never pause", remedy="give the room that must stay, such as 50GiB")
        if self.resume_above_bytes <= self.pause_below_bytes:
            raise UsageError(
                f"--resume-above {format_bytes(self.resume_above_bytes)} is not above --pause-below "
                f"{format_bytes(self.pause_below_bytes)}",
                remedy="leave it out: then it is half as much again",
            )

    @classmethod
    def of(cls, pause_below_bytes: int, resume_above_bytes: int | None) -> "Thresholds":
        """Return both; the writer goes on at half as much room again unless told otherwise."""
        resume = pause_below_bytes * 3 // 2 if resume_above_bytes is None else resume_above_bytes
        return cls(pause_below_bytes=pause_below_bytes, resume_above_bytes=resume)

    def step(self, available_bytes: int, *, is_paused: bool) -> Step:
        """Return what to do."""
        if not is_paused and available_bytes < self.pause_below_bytes:
            return Step.PAUSE
        if is_paused and available_bytes > self.resume_above_bytes:
            return Step.RESUME
        return Step.NOTHING

    def wait_seconds(self, available_bytes: int, *, bytes_per_second: float) -> float:
        """Return when to look again: several times before the edge is reached at the rate seen last."""
        if bytes_per_second <= 0 or available_bytes < self.pause_below_bytes:
            return LONGEST_WAIT_SECONDS
        until_edge = (available_bytes - self.pause_below_bytes) / bytes_per_second
        return min(LONGEST_WAIT_SECONDS, max(SHORTEST_WAIT_SECONDS, until_edge / _LOOKS_BEFORE_THE_EDGE))

    def refuse_unreachable(self, usage: VolumeUsage) -> None:
        """Raise UsageError for thresholds that the volume cannot meet even when it is empty."""
        if self.resume_above_bytes >= usage.size_bytes:
            raise UsageError(
                f"the volume has {format_bytes(usage.size_bytes)} in all: it would never go on above "
                f"{format_bytes(self.resume_above_bytes)}",
                remedy="give smaller sizes",
            )


def room_bytes(usage: VolumeUsage) -> int:
    """Return the bytes a writer can still use: free blocks, or what a quota or a thin pool leaves of them."""
    limits = [limit.available_bytes for limit in usage.limits if limit.available_bytes is not None]
    return min([usage.available_bytes, *limits])
