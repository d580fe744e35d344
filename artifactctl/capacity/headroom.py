"""What a new run may still claim on a volume, and which limit says so."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from artifactctl.domain.artifacts import Reservation
from artifactctl.domain.observation import VolumeUsage

FILESYSTEM = "filesystem"
INODES = "inodes"
READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Space left alone so that a full volume is not what finishing looks like: a share of the size, capped."""

    share: Fraction = Fraction(1, 100)
    at_most_bytes: int = 64 * 2**30

    def of(self, size_bytes: int) -> int:
        """Return the bytes kept back on a volume of this size."""
        return min(self.at_most_bytes, int(size_bytes * self.share))


DEFAULT_RESERVE = Reserve()
NO_RESERVE = Reserve(share=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One limit after promises and reserve; exactly one of the two amounts is set. Negative when over-promised.

    `withheld_bytes` is what promises and reserve took off: still free on disk, and gone only when it is really full.
    """

    name: str
    available_bytes: int | None = None
    available_inodes: int | None = None
    withheld_bytes: int = 0
    detail: str = ""

    def __post_init__(self) -> None:
        if (self.available_bytes is None) == (self.available_inodes is None):
            raise ValueError(f"the bound `{self.name}` must count either bytes or inodes")

    def shortfall(self, *, peak_bytes: int, files: int) -> int:
        """Return what is missing, in the bound's own unit; 0 when it suffices."""
        if self.available_inodes is not None:
            return max(0, files - self.available_inodes)
        return max(0, peak_bytes - (self.available_bytes or 0))

    def in_bytes(self, *, peak_bytes: int, files: int) -> int | None:
        """Return the bytes of such a demand that the bound lets through.

        Inodes say nothing about bytes (None) where the demand takes less than a hundredth of them. The answer is below
        `peak_bytes` exactly when there is a shortfall, also for a demand of empty files.
        """
        if self.available_inodes is None:
            return self.available_bytes
        if files == 0 or self.available_inodes > 100 * files:
            return None
        let_through_bytes = self.available_inodes * peak_bytes // files
        return min(let_through_bytes, peak_bytes - 1) if self.available_inodes < files else let_through_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """All bounds of one volume at one instant, the filesystem's free blocks first."""

    mount: bytes
    filesystem_uuid: str
    available_bytes: int
    promised_bytes: int
    reserve_bytes: int
    bounds: tuple[Bound, ...]

    def binding(self, *, peak_bytes: int, files: int) -> tuple[int, str]:
        """Return (bytes that may still be written by such a demand, name of the limit that binds first)."""
        in_bytes = [(bound.in_bytes(peak_bytes=peak_bytes, files=files), bound.name) for bound in self.bounds]
        return min(((size, name) for size, name in in_bytes if size is not None), key=lambda pair: pair[0])

    def bytes_until_full(self, *, peak_bytes: int, files: int) -> int:
        """Return the bytes such a demand can write until writes fail, promises and reserve not respected."""
        in_bytes = [(bound.in_bytes(peak_bytes=peak_bytes, files=files), bound.withheld_bytes) for bound in self.bounds]
        return min(size + withheld for size, withheld in in_bytes if size is not None)

    def admits(self, *, peak_bytes: int, files: int) -> bool:
        """Whether no bound falls short of the demand."""
        return all(bound.shortfall(peak_bytes=peak_bytes, files=files) == 0 for bound in self.bounds)


def measure_headroom(
    usage: VolumeUsage,
    *,
    reservations: Iterable[Reservation] = (),
    reserve: Reserve = DEFAULT_RESERVE,
    own_reservation_id: str = "",
) -> Headroom:
    """Return the headroom left by other people's unfilled reservations and the reserve.

    Root-reserved blocks count as used (f_bavail, not f_bfree). `reservations` are those in force, and are taken
    off every bound: whose quota they will be charged to is not known, and too little room is the harmless mistake.
    """
    promised_bytes = sum(
        max(0, reservation.reserved_bytes - reservation.filled_bytes)
        for reservation in reservations
        if reservation.filesystem_uuid == usage.filesystem_uuid and reservation.reservation_id != own_reservation_id
    )
    reserve_bytes = reserve.of(usage.size_bytes)
    return Headroom(
        mount=usage.mount,
        filesystem_uuid=usage.filesystem_uuid,
        available_bytes=usage.available_bytes,
        promised_bytes=promised_bytes,
        reserve_bytes=reserve_bytes,
        bounds=_bounds(usage, promised_bytes=promised_bytes, reserve_bytes=reserve_bytes),
    )


def _bounds(usage: VolumeUsage, *, promised_bytes: int, reserve_bytes: int) -> tuple[Bound, ...]:
    if usage.read_only:
        return (Bound(name=READ_ONLY, available_bytes=0, detail="the filesystem is mounted read-only"),)
    withheld_bytes = promised_bytes + reserve_bytes
    bounds = [
        Bound(name=FILESYSTEM, available_bytes=usage.available_bytes - withheld_bytes, withheld_bytes=withheld_bytes)
    ]
    if usage.total_inodes > 0:
        bounds.append(Bound(name=INODES, available_inodes=usage.available_inodes))
    for limit in usage.limits:
        if limit.available_bytes is not None:
            bounds.append(
                Bound(
                    name=limit.name,
                    available_bytes=limit.available_bytes - promised_bytes,
                    withheld_bytes=promised_bytes,
                    detail=limit.detail,
                )
            )
        if limit.available_inodes is not None:
            name = limit.name if INODES in limit.name else f"{limit.name} {INODES}"
            bounds.append(Bound(name=name, available_inodes=limit.available_inodes, detail=limit.detail))
    return tuple(bounds)
