"""The mount table as /proc/<pid>/mountinfo tells it (proc_pid_mountinfo(5)).

Also on a Mac, which reads the tables of machines without Python by it: the system calls are imported where one is made.
"""

from __future__ import annotations

import os
import re
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional

_NETWORK = "nfs nfs4 cifs smb3 smbfs ceph lustre gpfs beegfs 9p afs glusterfs ocfs2 gfs2 orangefs pvfs2 virtiofs wekafs"
_LOCAL = (
    "rootfs ext2 ext3 ext4 xfs btrfs tmpfs ramfs zfs f2fs bcachefs jfs reiserfs nilfs2 ntfs3 vfat exfat msdos hfsplus "
    "minix ubifs jffs2 udf iso9660 squashfs erofs cramfs overlay"
)
_PSEUDO = (
    "autofs binfmt_misc bpf cgroup cgroup2 configfs cpuset debugfs devpts devtmpfs efivarfs fusectl hugetlbfs mqueue "
    "nfsd nsfs pipefs proc pstore ramfs resctrl rpc_pipefs securityfs selinuxfs sockfs sysfs tracefs fuse.portal "
    "fuse.gvfsd-fuse fuse.lxcfs"
)
_IMAGE_TYPES = frozenset(("squashfs", "erofs", "iso9660", "udf", "cramfs"))
_SYSTEM_MEMORY = (b"/dev", b"/run/lock", b"/run/user", b"/run/credentials", b"/run/secrets", b"/var/run", b"/var/lock")
_SYSTEM_TOPS = (b"/run",)
NETWORK_TYPES = frozenset(_NETWORK.split())
LOCAL_TYPES = frozenset(_LOCAL.split())
PSEUDO_TYPES = frozenset(_PSEUDO.split())
# statfs(2); ext2, ext3 and ext4 share a number, and the youngest driver serves them all
_TYPE_BY_NUMBER = {
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0x794C7630: "overlay",
    0x2FC12FC1: "zfs",
    0xF2F52010: "f2fs",
    0x6969: "nfs",
    0xFF534D42: "cifs",
    0xFE534D42: "smb3",
    0x65735546: "fuse",
    0x00C36400: "ceph",
    0x0BD00BD0: "lustre",
    0x01021997: "9p",
}
_LAYERS = (b"lowerdir", b"upperdir", b"workdir", b"lowerdir+", b"datadir+")
_ESCAPE = re.compile(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line: `root` is the part of the filesystem that is shown at `point`; `device` is major:minor in text.

    `device` names the superblock. On btrfs it differs from every st_dev below: compare it with its like only.
    """

    mount_id: int
    parent_id: int
    device: str
    root: bytes
    point: bytes
    options: FrozenSet[bytes]
    type: str
    source: str

    @property
    def is_remote(self) -> bool:
        """Whether something other than this kernel answers for it, and may never do so."""
        return self.type in NETWORK_TYPES or self.type == "fuse" or self.type.startswith("fuse.")

    @property
    def is_shared(self) -> bool:
        """Whether others than this kernel can have files open on it: every type that is not known to be local."""
        return self.type not in LOCAL_TYPES and not self.is_pseudo

    @property
    def overlay_layers(self) -> List[bytes]:
        """The folders that an overlay shows, as whoever mounted it named them; none of any other type."""
        if self.type != "overlay":
            return []
        named = (option.partition(b"=") for option in self.options)
        values = [value for name, _, value in named if name in _LAYERS]
        return [unescape(part) for value in values for part in value.split(b":") if part]

    @property
    def is_pseudo(self) -> bool:
        """Whether it shows the kernel's own state and stores nothing (a tmpfs carries old cgroup hierarchies)."""
        return self.type in PSEUDO_TYPES or self.point.startswith((b"/sys/", b"/proc/"))

    @property
    def is_for_storing(self) -> bool:
        """Whether a person stores things there: not the kernel's state, a program's image or the system's own memory.

        Of the memory filesystems `/dev/shm`, `/tmp` and what somebody mounted elsewhere are; of the overlays only the
        one that is this machine's root, since the others are the roots of containers.
        """
        if self.is_pseudo or self.type in _IMAGE_TYPES:
            return False
        if self.type == "overlay":
            return self.point == b"/"
        if self.type != "tmpfs" or self.point == b"/dev/shm":
            return True
        return not any(lies_at_or_below(self.point, top) for top in _SYSTEM_MEMORY) and self.point not in _SYSTEM_TOPS

    @property
    def is_read_only(self) -> bool:
        """Whether the mount or its filesystem refuses writes; `emergency_ro` is not seen by statvfs."""
        return not self.options.isdisjoint((b"ro", b"emergency_ro"))


def unescape(text: bytes) -> bytes:
    r"""Undo the kernel's octal escapes (\040 for a blank, and so on)."""
    return _ESCAPE.sub(lambda match: bytes([int(match.group(1), 8)]), text)


def parse(content: bytes) -> List[Mount]:
    """Return the mounts of a mountinfo file, in its order: a later mount hides an earlier one at the same point."""
    found = []
    for line in content.splitlines():
        before, _, after = line.partition(b" - ")
        fields, rest = before.split(b" "), after.split(b" ")
        if len(fields) < 6 or len(rest) < 2:
            continue
        superblock = rest[2].split(b",") if len(rest) > 2 else []
        found.append(
            Mount(
                int(fields[0]),
                int(fields[1]),
                fields[2].decode("ascii"),
                unescape(fields[3]),
                unescape(fields[4]),
                frozenset(fields[5].split(b",") + superblock),
                rest[0].decode("ascii", "replace"),
                os.fsdecode(unescape(rest[1])),
            )
        )
    return found


def read(process: str = "self") -> List[Mount]:
    """Return the mounts that `process` sees; OSError when its table cannot be read.

    In a chroot whose top is no mount point our own table leaves out what `/` lies on: that is added, from the kernel's
    answer about `/` itself.
    """
    with open(f"/proc/{process}/mountinfo", "rb") as table:
        found = parse(table.read())
    if process == "self" and not any(mount.point == b"/" for mount in found):
        found.insert(0, _of_our_root())
    return found


def _of_our_root() -> Mount:
    from artifactctl.hosts.probe import kernel

    descriptor = os.open(b"/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        number = os.fstat(descriptor).st_dev
        space = os.fstatvfs(descriptor)
        return Mount(
            kernel.table_mount_id(descriptor) or 0,
            0,
            f"{os.major(number)}:{os.minor(number)}",
            b"/",
            b"/",
            frozenset((b"ro",) if space.f_flag & os.ST_RDONLY else (b"rw",)),
            _TYPE_BY_NUMBER.get(kernel.filesystem_number(descriptor), "unknown"),
            "",
        )
    finally:
        os.close(descriptor)


def lies_at_or_below(path: bytes, top: bytes) -> bool:
    """Whether `path` is `top` or leads below it, lexically."""
    return path == top or path.startswith(top if top.endswith(b"/") else top + b"/")


def relative_to(path: bytes, top: bytes) -> bytes:
    """Return what follows `top` in `path`, which must lie at or below it."""
    return path[len(top) :].lstrip(b"/")


def join(top: bytes, relative: bytes) -> bytes:
    """Return `relative` below `top`; b"" is `top` itself."""
    return top.rstrip(b"/") + b"/" + relative if relative else top


def visible(table: Iterable[Mount]) -> List[Mount]:
    """Return the mounts that are not hidden by a later one at the same point."""
    by_point: Dict[bytes, Mount] = {}
    for mount in table:
        by_point[mount.point] = mount
    return list(by_point.values())


def holding(table: Iterable[Mount], path: bytes) -> Optional[Mount]:
    """Return the mount that shows the absolute, resolved `path`: the last of the longest prefixes."""
    best: Optional[Mount] = None
    for mount in table:
        if lies_at_or_below(path, mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


class Spot(NamedTuple):
    """A place within a filesystem, whatever path shows it: `device` as in `Mount`, `path` from the filesystem's top."""

    device: str
    path: bytes


def spot_of(table: Iterable[Mount], path: bytes) -> Spot:
    """Return where the absolute path is in its filesystem, resolved or not, with something there or not."""
    mount = holding(table, path)
    if mount is None:
        return Spot("", path)
    return Spot(mount.device, join(mount.root, relative_to(path, mount.point)))


def of_descriptor(table: Iterable[Mount], descriptor: int) -> Optional[Mount]:
    """Return the mount an open descriptor came through, None when /proc does not say."""
    from artifactctl.hosts.probe import kernel

    number = kernel.table_mount_id(descriptor)
    return next((mount for mount in table if mount.mount_id == number), None)


def mount_points_below(path: bytes) -> FrozenSet[bytes]:
    """Return the mount points strictly below the resolved `path`, relative to it."""
    points = (mount.point for mount in read())
    return frozenset(relative_to(point, path) for point in points if point != path and lies_at_or_below(point, path))
