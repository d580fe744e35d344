"""Space: what a filesystem has, what inodes take, and when freed blocks are really free."""

import errno
from dataclasses import dataclass, field

from artifactctl.hosts.protocol import EntryType
from tests.fakes.clock import FakeClock
from tests.fakes.inodes import Inode

KIB, MIB, GIB = 1024, 1024**2, 1024**3


@dataclass(slots=True, eq=False, kw_only=True)
class Volume:
    """One filesystem. `foreign_bytes` is taken by things no path shows (snapshots, reserved blocks).

    `inode_bytes` is the sum over all inodes. With `frees_late` the blocks of a removed inode stay taken until somebody
    settles the volume (btrfs, xfs).
    `pins` counts for each inode the descriptors that keep it alive without a name.
    """

    uuid: str
    type: str
    size_bytes: int
    clock: FakeClock
    block_bytes: int = 4 * KIB
    total_inodes: int = 1_000_000
    foreign_bytes: int = 0
    has_birth_time: bool = True
    grants_leases: bool = True
    is_network: bool = False
    is_exported: bool = False
    frees_late: bool = False
    late_bytes: int = 0
    inode_bytes: int = 0
    inodes: dict[int, Inode] = field(default_factory=dict)
    pins: dict[int, int] = field(default_factory=dict)
    next_number: int = 2

    def __post_init__(self) -> None:
        top = self.create(EntryType.DIRECTORY)
        top.links = 1

    @property
    def used_bytes(self) -> int:
        """Bytes that are not available to a writer."""
        return self.inode_bytes + self.foreign_bytes + self.late_bytes

    @property
    def available_bytes(self) -> int:
        """Bytes that a writer could still get."""
        return max(0, self.size_bytes - self.used_bytes)

    def create(self, kind: EntryType, *, owner: int = 0) -> Inode:
        """Return a new inode; ENOSPC without blocks for a folder or without inodes."""
        if len(self.inodes) >= self.total_inodes:
            raise OSError(errno.ENOSPC, "no inodes left")
        allocated = self.block_bytes if kind is EntryType.DIRECTORY else 0
        self.claim(allocated)
        stamp = self.clock.stamp()
        inode = Inode(
            number=self.next_number,
            type=kind,
            owner=owner,
            birth_ns=stamp,
            modified_ns=stamp,
            changed_ns=stamp,
            read_ns=stamp,
            allocated_bytes=allocated,
        )
        self.next_number += 1
        self.inodes[inode.number] = inode
        self.inode_bytes += allocated
        return inode

    def resize(self, inode: Inode, size_bytes: int, *, allocated_bytes: int | None = None) -> None:
        """Give the file a size and its blocks; ENOSPC leaves it as it was."""
        wanted = -(-size_bytes // self.block_bytes) * self.block_bytes if allocated_bytes is None else allocated_bytes
        self.claim(wanted - inode.allocated_bytes)
        self.inode_bytes += wanted - inode.allocated_bytes
        inode.size_bytes, inode.allocated_bytes = size_bytes, wanted

    def claim(self, more_bytes: int) -> None:
        """Raise ENOSPC when there is not that much left."""
        if more_bytes > 0 and more_bytes > self.available_bytes:
            raise OSError(errno.ENOSPC, "no space left on device")

    def pin(self, number: int) -> None:
        """Keep the inode alive: somebody has it open."""
        self.pins[number] = self.pins.get(number, 0) + 1

    def unpin(self, number: int) -> None:
        """Undo one `pin`; the last one frees an inode that has no name any more."""
        self.pins[number] -= 1
        self.drop_if_unused(self.inodes[number])

    def drop_if_unused(self, inode: Inode) -> None:
        """Free the inode when it has neither a name nor a user."""
        if inode.links > 0 or self.pins.get(inode.number):
            return
        del self.inodes[inode.number]
        self.inode_bytes -= inode.allocated_bytes
        if self.frees_late:
            self.late_bytes += inode.allocated_bytes
