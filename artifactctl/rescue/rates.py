"""Who writes how fast, and when the volume is full; pure.

Why not the look of `plan running` (`inventory.tree_growth`): it goes over the tree a dozen times, which ten seconds do
not allow where the tree is large, and it names no writer. A system test holds both to the same rate.
"""

from collections.abc import Sequence
from datetime import datetime

from artifactctl.capacity.growth import full_at
from artifactctl.domain.activity import VolumeActivity, Writer
from artifactctl.report.rescue_values import Filling, WriterSeen

ALLOCATES_AHEAD = frozenset(("xfs", "btrfs", "zfs"))
"""Where the free space of one moment jumps with reservations and delayed allocation; growing files tell better."""

WORTH_A_LINE = 0.02
"""A share of the fastest rate; slower ones are noise."""

_KERNEL_THREADS = ("kworker/", "jbd2/", "kswapd", "xfsaild", "btrfs-", "flush-", "dm", "md")
"""They write what others have written before: counting them as well would count it twice."""


def writers_of(activity: VolumeActivity) -> tuple[WriterSeen, ...]:
    """Return the writers to the volume, fastest first."""
    seen = [_writer(writer, activity.seconds) for writer in activity.writers if writer.writes_here]
    unexplained = activity.filling_bytes_per_second - sum(writer.bytes_per_second for writer in seen)
    for writer in activity.writers:
        rate = writer.written_bytes / activity.seconds
        if writer.command.startswith(_KERNEL_THREADS):
            continue
        if not writer.writes_here and unexplained > 0 and 0 < rate <= 1.5 * unexplained:
            seen.append(
                WriterSeen(pid=writer.pid, command=writer.command, path=b"", bytes_per_second=rate, is_certain=False)
            )
    fastest = max((writer.bytes_per_second for writer in seen), default=0.0)
    noticeable = [w for w in seen if w.bytes_per_second > fastest * WORTH_A_LINE]
    return tuple(sorted(noticeable, key=lambda writer: (-writer.bytes_per_second, writer.pid)))


def filling_of(
    activity: VolumeActivity,
    writers: Sequence[WriterSeen],
    *,
    filesystem_type: str,
    available_bytes: int,
    now: datetime,
) -> Filling:
    """Return how fast it fills and when it is full at that rate.

    The rate is what the writers add, or what the volume lost meanwhile where that is more: a writer that cannot be
    seen (another user's, another machine's) fills the disk as well.
    """
    added = sum(writer.bytes_per_second for writer in writers)
    lost = activity.filling_bytes_per_second
    trusts_writers = filesystem_type in ALLOCATES_AHEAD and added > 0 and not activity.processes_denied
    rate = max(0.0, added if trusts_writers else max(added, lost))
    return Filling(
        bytes_per_second=rate,
        full_at=full_at(headroom_bytes=available_bytes, bytes_per_second=rate, now=now),
        watched_seconds=activity.seconds,
        processes_denied=activity.processes_denied,
        is_from_volume=rate > added,
    )


def _writer(writer: Writer, seconds: float) -> WriterSeen:
    """Return the rate at which a process adds bytes: what its open files grew, or what it sent to devices.

    A process that goes from file to file grew only the newest of them during the sample; all it wrote counts then.
    """
    grown_bytes = sum(max(0, file.grown_bytes) for file in writer.files)
    moves_on = any(not file.was_open_before for file in writer.files)
    added_bytes = max(grown_bytes, writer.written_bytes) if moves_on else grown_bytes
    fastest = max(writer.files, key=lambda file: file.grown_bytes, default=None)
    return WriterSeen(
        pid=writer.pid,
        command=writer.command,
        path=fastest.path if fastest is not None else b"",
        bytes_per_second=added_bytes / seconds,
    )
