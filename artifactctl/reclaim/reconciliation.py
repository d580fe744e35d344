"""Comparing what was freed with what was predicted (step 11), and explaining the rest.

`explain` is pure; `measure` asks the machine. Measured is the change of free blocks (f_bfree), since f_bavail stands
still while a volume is inside its root reserve.
"""

from dataclasses import dataclass

from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.plans import Bound
from artifactctl.domain.results import Explanation
from artifactctl.hosts.protocol import Host

SETTLE_SECONDS = 5.0
STEP_SETTLE_SECONDS = 1.0
BTRFS_SETTLE_SECONDS = 40.0
"""btrfs frees in the background: 31 s were measured without a sync, less than a second after one."""

TOLERANCE_BYTES = 4 << 20
TOLERANCE_SHARE = 0.005
"""What filesystems keep for folders, journals and extent trees; anything below is not worth a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A volume before and after, and what else was seen on it.

    `deleted_open_bytes` are bytes of deleted files that a process keeps open there and did not before; `drift_bytes`
    is how much free space moved by itself while nothing of ours ran (negative: others are writing).
    """

    before: VolumeUsage
    after: VolumeUsage
    deleted_open_bytes: int = 0
    drift_bytes: int = 0

    @property
    def freed_bytes(self) -> int:
        """Bytes that became free."""
        return self.after.free_bytes - self.before.free_bytes


def measure(
    host: Host, before: VolumeUsage, path: bytes, *, expected_bytes: int, deleted_open_before: int
) -> Measurement:
    """Sync the filesystem, wait until it shows the expected bytes or a deadline, and look who else is at work."""
    deadline = BTRFS_SETTLE_SECONDS if before.filesystem_type == "btrfs" else SETTLE_SECONDS
    target = before.available_bytes + max(expected_bytes - tolerance(expected_bytes), 0)
    after = host.settle(path, target_available_bytes=target, deadline_seconds=deadline)
    drift = 0
    deleted = 0
    if expected_bytes - (after.free_bytes - before.free_bytes) > tolerance(expected_bytes):
        again = host.settle(path, target_available_bytes=None, deadline_seconds=1.0)
        drift = again.free_bytes - after.free_bytes
        deleted = max(sum(item.size_bytes for item in host.held_by_deleted(path)) - deleted_open_before, 0)
    return Measurement(before=before, after=after, deleted_open_bytes=deleted, drift_bytes=drift)


def tolerance(expected_bytes: int) -> int:
    """Return the difference that is not worth a sentence."""
    return max(TOLERANCE_BYTES, int(expected_bytes * TOLERANCE_SHARE))


def explain(
    measurement: Measurement, *, expected_bytes: int, bounds: frozenset[Bound]
) -> tuple[tuple[Explanation, ...], bool]:
    """Return the explanations of the difference, and whether a shortage stays unexplained."""
    shortage = expected_bytes - measurement.freed_bytes
    if shortage == 0:
        return (), False
    if abs(shortage) <= tolerance(expected_bytes):
        text = "what the filesystem keeps for folders and its journal, or small writes by others meanwhile"
        return (Explanation(text=text, bytes_=-shortage),), False
    if shortage < 0:
        return (_surplus(-shortage, measurement),), False
    found = []
    if measurement.deleted_open_bytes:
        found.append(
            Explanation(
                text="a process still has a deleted file open; its bytes come free when it closes it",
                bytes_=min(measurement.deleted_open_bytes, shortage),
            )
        )
    if Bound.UPPER in bounds:
        found.append(
            Explanation(
                text="extents are shared with a snapshot or a reflink copy, or are compressed: "
                "the prediction was an upper bound"
            )
        )
    if measurement.drift_bytes < 0:
        found.append(Explanation(text="others are writing to the volume meanwhile"))
    known = sum(item.bytes_ for item in found if item.bytes_ is not None)
    open_ended = any(item.bytes_ is None for item in found)
    return tuple(found), not open_ended and shortage - known > tolerance(expected_bytes)


def _surplus(bytes_: int, measurement: Measurement) -> Explanation:
    if measurement.after.filesystem_type == "xfs":
        return Explanation(text="xfs also gave back inode clusters and preallocated space", bytes_=bytes_)
    return Explanation(text="more came free than predicted: metadata, or others removed files meanwhile", bytes_=bytes_)
