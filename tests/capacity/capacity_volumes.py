"""Volumes, instants and candidates that the capacity tests share."""

from datetime import UTC, datetime, timedelta

from artifactctl.capacity import ReclaimCandidate
from artifactctl.domain.artifacts import Reservation
from artifactctl.domain.observation import Limit, VolumeUsage

GIB = 2**30
TIB = 2**40
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UUID = "5f0a"


def volume(
    *,
    size_bytes: int = 12 * TIB,
    available_bytes: int,
    total_inodes: int = 10**9,
    available_inodes: int = 10**9,
    limits: tuple[Limit, ...] = (),
    read_only: bool = False,
    mount: bytes = b"/data",
) -> VolumeUsage:
    """Return the usage of an XFS volume."""
    return VolumeUsage(
        mount=mount,
        filesystem_uuid=UUID,
        filesystem_type="xfs",
        device="/dev/vdb",
        size_bytes=size_bytes,
        used_bytes=size_bytes - available_bytes,
        free_bytes=available_bytes,
        available_bytes=available_bytes,
        total_inodes=total_inodes,
        available_inodes=available_inodes,
        block_bytes=4096,
        read_only=read_only,
        limits=limits,
    )


def volume_of_the_story() -> VolumeUsage:
    """Return the volume before anything was deleted: 12T, 1,021G used."""
    return volume(available_bytes=12 * TIB - 1021 * GIB)


def reservation(
    *, reserved_bytes: int, filled_bytes: int = 0, uuid: str = UUID, hours_left: float = 1, name: str = "r1"
) -> Reservation:
    """Return a promise on the volume."""
    return Reservation(
        reservation_id=name,
        filesystem_uuid=uuid,
        host_id=1,
        path=b"/data/next",
        reserved_bytes=reserved_bytes,
        filled_bytes=filled_bytes,
        purpose="extraction",
        actor="ada",
        made_at=NOON - timedelta(hours=1),
        expires_at=NOON + timedelta(hours=hours_left),
    )


def candidate(
    name: str,
    freed_bytes: int,
    *,
    superseded: bool = False,
    cost: float | None = None,
    days_old: int = 10,
    available_at: datetime | None = None,
    set_aside: bool = False,
    freed_files: int = 0,
    relieves: tuple[str, ...] = ("filesystem", "inodes"),
) -> ReclaimCandidate:
    """Return something that could be given up."""
    return ReclaimCandidate(
        name=name,
        freed_bytes=freed_bytes,
        superseded=superseded,
        regenerate_cost=cost,
        created_at=NOON - timedelta(days=days_old),
        available_at=available_at,
        set_aside=set_aside,
        freed_files=freed_files,
        relieves=relieves,
    )
