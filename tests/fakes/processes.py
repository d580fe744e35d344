"""Who uses what: planted by tests, found by `Host.holders` as far as the machine can see."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from artifactctl.domain.observation import Holder, HolderKind
from tests.fakes.disk import Disk, Spot

OPENERS = frozenset(
    {
        HolderKind.DESCRIPTOR,
        HolderKind.MAPPING,
        HolderKind.EXECUTABLE,
        HolderKind.LOOP_DEVICE,
        HolderKind.SWAP,
        HolderKind.KERNEL_LEASE,
        HolderKind.FLOCK,
    }
)
"""The uses for which the kernel refuses a write lease; a working directory or a foreign mount is not among them."""


@dataclass(slots=True, eq=False, kw_only=True)
class PlantedHolder:
    """One use of one inode until closed. An invisible one belongs to a process that cannot be inspected."""

    table: "ProcessTable"
    kind: HolderKind
    spot: Spot
    pid: int
    command: str
    visible: bool
    writes: bool = False

    def close(self) -> None:
        """End the use; an inode without a name goes now."""
        if self in self.table.planted:
            self.table.planted.remove(self)
            self.spot.mount.volume.unpin(self.spot.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(slots=True)
class ProcessTable:
    """All uses on the machine."""

    disk: Disk
    planted: list[PlantedHolder] = field(default_factory=list)
    next_pid: int = 4001

    def hold(
        self,
        path: bytes,
        kind: HolderKind = HolderKind.DESCRIPTOR,
        *,
        command: str = "python train.py",
        visible: bool = True,
        writes: bool = False,
    ) -> PlantedHolder:
        """Let a new process use what stands at `path`; with `writes` it could change the content."""
        spot = self.disk.find(path)
        holder = PlantedHolder(
            table=self, kind=kind, spot=spot, pid=self.next_pid, command=command, visible=visible, writes=writes
        )
        self.next_pid += 1
        self.planted.append(holder)
        spot.mount.volume.pin(spot.number)
        return holder

    def of(self, spot: Spot) -> Iterator[PlantedHolder]:
        """Yield every use of the inode, by whatever name."""
        for holder in self.planted:
            if holder.spot.number == spot.number and holder.spot.mount.volume is spot.mount.volume:
                yield holder

    def refuses_lease(self, spot: Spot) -> bool:
        """Whether the kernel would refuse a write lease since somebody has the inode open or mapped."""
        return any(holder.kind in OPENERS for holder in self.of(spot))

    def refuses_read_lease(self, spot: Spot) -> bool:
        """Whether the kernel would refuse a read lease since somebody could write to the inode."""
        return any(holder.writes for holder in self.of(spot))

    def end_all(self) -> None:
        """A reboot: every process ends."""
        for holder in tuple(self.planted):
            holder.close()


def reported(holder: PlantedHolder, relative: bytes) -> Holder:
    """Return the use as the machine reports it."""
    return Holder(kind=holder.kind, path=relative, pid=holder.pid, command=holder.command)
