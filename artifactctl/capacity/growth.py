"""How fast bytes arrive, and when a volume that takes them is full."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """Bytes that a demand occupies so long after its start; between two points the growth is linear."""

    after: timedelta
    occupied_bytes: int


def steady_growth(total_bytes: int, duration: timedelta | None) -> tuple[GrowthPoint, ...]:
    """Return a straight line from nothing to `total_bytes`; no points where the duration is unknown."""
    if duration is None:
        return ()
    return (
        GrowthPoint(after=timedelta(0), occupied_bytes=0),
        GrowthPoint(after=duration, occupied_bytes=total_bytes),
    )


def time_until(points: Sequence[GrowthPoint], limit_bytes: int) -> timedelta | None:
    """Return when the growth first exceeds `limit_bytes`, None if never or not known."""
    for earlier, later in pairwise(points):
        if later.occupied_bytes > limit_bytes:
            rise = later.occupied_bytes - earlier.occupied_bytes
            if earlier.occupied_bytes >= limit_bytes or rise <= 0:
                return earlier.after
            return earlier.after + (later.after - earlier.after) * ((limit_bytes - earlier.occupied_bytes) / rise)
    return None


def peak_point(points: Sequence[GrowthPoint]) -> GrowthPoint | None:
    """Return the earliest point at which most is occupied, None without points."""
    return max(points, key=lambda point: (point.occupied_bytes, -point.after), default=None)


def full_at(*, headroom_bytes: int, bytes_per_second: float, now: datetime) -> datetime | None:
    """Return when a steady writer has used up the headroom; None when it writes nothing or not within a century."""
    if headroom_bytes <= 0:
        return now
    if bytes_per_second <= 0 or headroom_bytes / bytes_per_second > timedelta(days=36_525).total_seconds():
        return None
    return now + timedelta(seconds=headroom_bytes / bytes_per_second)


def rate_between(samples: Sequence[tuple[datetime, int]]) -> float | None:
    """Return bytes per second from (instant, bytes on disk) samples, oldest first; None from fewer than two instants.

    The slope of the least-squares line: a writer that works in bursts counts at its mean. Never negative.
    """
    if len(samples) < 2:
        return None
    start = samples[0][0]
    seconds = [(instant - start).total_seconds() for instant, _ in samples]
    mean_seconds = sum(seconds) / len(seconds)
    mean_bytes = sum(size for _, size in samples) / len(samples)
    spread = sum((second - mean_seconds) ** 2 for second in seconds)
    if spread == 0:
        return None
    slope = sum(
        (second - mean_seconds) * (size - mean_bytes) for second, (_, size) in zip(seconds, samples, strict=True)
    )
    return max(0.0, slope / spread)


def rate_from_history(files: Iterable[tuple[datetime, int]]) -> float | None:
    """Return bytes per second from the (modification time, size) of files already written one after the other.

    The oldest file only marks the start, since nobody knows when it was begun. None from fewer than two instants.
    """
    ordered = sorted(files)
    if len(ordered) < 2:
        return None
    span_seconds = (ordered[-1][0] - ordered[0][0]).total_seconds()
    if span_seconds <= 0:
        return None
    return sum(size for _, size in ordered[1:]) / span_seconds
