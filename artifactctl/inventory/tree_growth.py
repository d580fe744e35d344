"""How many bytes lie below a path, and how fast they become more."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from artifactctl.capacity.growth import rate_between, rate_from_history
from artifactctl.domain.errors import UsageError
from artifactctl.hosts.protocol import Entry, EntryType, Host
from artifactctl.report.paths import display_path

LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSize:
    """What one walk found. `files` are (modification time, bytes). `problems` names what could not be read."""

    written_bytes: int
    files: tuple[tuple[datetime, int], ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What is there, and the rate it grows at: watched where it grew, else from the files' own times, else None."""

    size: TreeSize
    bytes_per_second: float | None
    from_history: bool


def measure_tree(host: Host, path: bytes) -> TreeSize:
    """Return the bytes of the files below `path`, each inode once."""
    written_bytes = 0
    files: list[tuple[datetime, int]] = []
    problems = []
    linked: set[int] = set()
    for listing in host.walk(path):
        if listing.problem:
            problems.append(listing.problem)
        for entry in listing.entries:
            if entry.type is not EntryType.FILE or entry.inode in linked:
                continue
            if entry.links > 1:
                linked.add(entry.inode)
            size = written_bytes_of(entry)
            written_bytes += size
            files.append((datetime.fromtimestamp(entry.modified_ns / 1e9, UTC), size))
    return TreeSize(written_bytes=written_bytes, files=tuple(files), problems=tuple(problems))


def written_bytes_of(entry: Entry) -> int:
    """Return what a writer has really written: XFS allocates ahead of a growing file, and a sparse file pretends."""
    return min(entry.size_bytes, entry.allocated_bytes)


def watch_growth(
    host: Host, path: bytes, *, watch: timedelta, now: Callable[[], datetime], pause: Callable[[float], None]
) -> Growth:
    """Look several times over the span `watch`; UsageError when nothing is at `path`."""
    if host.identity(path) is None:
        raise UsageError(f"there is nothing at {display_path(path)}", remedy="give the folder that the job writes to")
    size = measure_tree(host, path)
    samples = [(now(), size.written_bytes)]
    ends_at = samples[0][0] + watch
    while samples[-1][0] < ends_at:
        pause(watch.total_seconds() / LOOKS)
        size = measure_tree(host, path)
        samples.append((now(), size.written_bytes))
    rate = rate_between(samples)
    if rate:
        return Growth(size=size, bytes_per_second=rate, from_history=False)
    recent = rate_from_history(size.files)
    if recent is None or not _is_recent(size, now()):
        return Growth(size=size, bytes_per_second=None, from_history=False)
    return Growth(size=size, bytes_per_second=recent, from_history=True)


def _is_recent(size: TreeSize, now: datetime) -> bool:
    """Whether the last file is not older than the longest pause so far: else the job has ended, not paused."""
    times = sorted(at for at, _ in size.files)
    pauses = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    return bool(pauses) and now - times[-1] <= 2 * max(pauses)
