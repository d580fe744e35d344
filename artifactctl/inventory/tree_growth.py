"""How many bytes lie below a path, and how fast they become more, from looking at the files several times.

Two counts are kept, since neither is right for every writer. Allocated bytes lag behind a file that is being appended
to (ext4 allocates seconds later) or run ahead of it (XFS), while the size of a file that was made large and is filled
afterwards says nothing. The count that grows is the one that the writer moves.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from artifactctl.capacity.growth import rate_between, rate_from_history
from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Entry, EntryType, Host

LOOKS = 10
SETTLES_WITHIN = timedelta(minutes=1)
"""Later than this after the last change every filesystem has allocated what was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSize:
    """What one walk found, each inode once. `files` are (modification time, bytes); `problems` could not be read.

    `appended_bytes` trusts the size of files that changed lately, `filled_bytes` only what is allocated.
    """

    appended_bytes: int
    filled_bytes: int
    files: tuple[tuple[datetime, int], ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What is written so far, and the rate: watched, or from the times of finished files (`from_history`), or None."""

    written_bytes: int
    bytes_per_second: float | None
    from_history: bool = False
    problems: tuple[str, ...] = ()


def measure_tree(host: Host, path: bytes, *, now: datetime) -> TreeSize:
    """Return the bytes of the files below `path`."""
    appended_bytes = filled_bytes = 0
    files: list[tuple[datetime, int]] = []
    problems = []
    linked: set[int] = set()
    for listing in host.walk(path):
        if listing.problem:
            problems.append(listing.problem)
        for entry in _files(listing.entries, linked):
            changed_at = datetime.fromtimestamp(entry.modified_ns / 1e9, UTC)
            filled = min(entry.size_bytes, entry.allocated_bytes)
            appended = entry.size_bytes if now - changed_at < SETTLES_WITHIN else filled
            appended_bytes += appended
            filled_bytes += filled
            files.append((changed_at, appended))
    return TreeSize(
        appended_bytes=appended_bytes, filled_bytes=filled_bytes, files=tuple(files), problems=tuple(problems)
    )


def watch_growth(
    host: Host, path: bytes, *, watch: timedelta, now: Callable[[], datetime], pause: Callable[[float], None]
) -> Growth:
    """Look several times over the span `watch`; UsageError when nothing is at `path`."""
    if host.identity(path) is None:
        raise UsageError(f"there is nothing at {display_path(path)}", remedy="give the folder that the job writes to")
    looks = []
    for number in range(LOOKS + 1):
        if number:
            pause(watch.total_seconds() / LOOKS)
        at = now()
        looks.append((at, measure_tree(host, path, now=at)))
    return judge_growth(looks)


def judge_growth(looks: list[tuple[datetime, TreeSize]]) -> Growth:
    """Return what several looks, oldest first, say about the writer."""
    last_at, last = looks[-1]
    appending = rate_between([(at, size.appended_bytes) for at, size in looks])
    filling = rate_between([(at, size.filled_bytes) for at, size in looks])
    if appending:
        return Growth(written_bytes=last.appended_bytes, bytes_per_second=appending, problems=last.problems)
    if filling:
        return Growth(written_bytes=last.filled_bytes, bytes_per_second=filling, problems=last.problems)
    between_bursts = rate_from_history(last.files) if _goes_on(last.files, last_at) else None
    return Growth(
        written_bytes=last.appended_bytes,
        bytes_per_second=between_bursts or None,
        from_history=bool(between_bursts),
        problems=last.problems,
    )


def _files(entries: Iterable[Entry], linked: set[int]) -> Iterable[Entry]:
    """Yield the regular files, those with several names once; `linked` remembers across folders."""
    for entry in entries:
        if entry.type is not EntryType.FILE or entry.inode in linked:
            continue
        if entry.links > 1:
            linked.add(entry.inode)
        yield entry


def _goes_on(files: Iterable[tuple[datetime, int]], now: datetime) -> bool:
    """Whether the newest file is not much older than the longest pause so far: else the job has ended, not paused."""
    times = sorted(at for at, _ in files)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    return bool(pauses) and now - times[-1] <= 2 * max(pauses)
