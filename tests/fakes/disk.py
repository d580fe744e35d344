"""Names: mounts, paths, and the system calls that change them, each failing with the errno the kernel gives."""

import errno
import posixpath
from dataclasses import dataclass, field

from artifactctl.domain.identity import FileIdentity
from artifactctl.hosts.protocol import EntryType
from tests.fakes.inodes import Inode
from tests.fakes.volume import Volume

MOST_LINKS_FOLLOWED = 40


def refuse(code: int, path: bytes) -> OSError:
    """Return the error of a system call on `path`."""
    return OSError(code, errno.errorcode[code], path)


@dataclass(slots=True, eq=False, kw_only=True)
class Mount:
    """A volume, or a folder of it, attached at `path`. Two mounts of one volume are two devices to rename(2)."""

    path: bytes
    volume: Volume
    top: int
    source: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """One inode as reached through one mount."""

    mount: Mount
    number: int

    @property
    def inode(self) -> Inode:
        """What is there."""
        return self.mount.volume.inodes[self.number]

    @property
    def identity(self) -> FileIdentity:
        """What makes it the same thing at two looks."""
        volume, inode = self.mount.volume, self.inode
        return FileIdentity(
            filesystem_uuid=volume.uuid,
            inode=inode.number,
            birth_ns=inode.birth_ns if volume.has_birth_time else None,
            ctime_ns=None if volume.has_birth_time else inode.changed_ns,
        )


@dataclass(slots=True, kw_only=True)
class Disk:
    """All filesystems of a machine as one tree. Paths are absolute bytes; `user` is who makes the calls."""

    mounts: list[Mount]
    user: int = 0
    covers: dict[tuple[Mount, int], Mount] = field(default_factory=dict)

    def entered(self, spot: Spot) -> Spot:
        """Return the top of what is mounted on the spot, or the spot."""
        while mount := self.covers.get((spot.mount, spot.number)):
            spot = Spot(mount, mount.top)
        return spot

    def find(self, path: bytes, *, follow_last: bool = False) -> Spot:
        """Return what stands at `path`, following links in the middle as the kernel does."""
        trail = [self.entered(Spot(self.mounts[0], self.mounts[0].top))]
        parts = [part for part in reversed(path.split(b"/")) if part not in (b"", b".")]
        followed = 0
        while parts:
            part = parts.pop()
            if part == b"..":
                del trail[max(1, len(trail) - 1) :]
                continue
            here = trail[-1]
            if here.inode.type is not EntryType.DIRECTORY:
                raise refuse(errno.ENOTDIR, path)
            if part not in here.inode.entries:
                raise refuse(errno.ENOENT, path)
            found = self.entered(Spot(here.mount, here.inode.entries[part]))
            if found.inode.type is EntryType.SYMLINK and (parts or follow_last):
                followed += 1
                if followed > MOST_LINKS_FOLLOWED:
                    raise refuse(errno.ELOOP, path)
                target = found.inode.link_target
                trail = trail[:1] if target.startswith(b"/") else trail
                parts += [piece for piece in reversed(target.split(b"/")) if piece not in (b"", b".")]
                continue
            trail.append(found)
        return trail[-1]

    def look(self, path: bytes) -> Spot | None:
        """Return what stands at `path` (a link is itself), None when nothing does."""
        try:
            return self.find(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise

    def exists(self, path: bytes) -> bool:
        """Whether anything stands at `path`."""
        return self.look(path) is not None

    def leads_somewhere(self, path: bytes) -> bool:
        """Whether anything is there once links are followed, the last one included."""
        try:
            self.find(path, follow_last=True)
        except OSError:
            return False
        return True

    def first_link(self, path: bytes) -> bytes | None:
        """Return the first component of `path` that is a symbolic link, the last one included."""
        prefix = b""
        for part in path.split(b"/")[1:]:
            prefix += b"/" + part
            spot = self.look(prefix)
            if spot is None:
                return None
            if spot.inode.type is EntryType.SYMLINK:
                return prefix
        return None

    def parent(self, path: bytes) -> tuple[Spot, bytes]:
        """Return the folder that `path` is in and the last component."""
        folder, name = posixpath.split(path)
        spot = self.find(folder, follow_last=True)
        if spot.inode.type is not EntryType.DIRECTORY:
            raise refuse(errno.ENOTDIR, path)
        return spot, name

    def attach(self, mount: Mount) -> None:
        """Mount it at its path, which must be there."""
        place = self.find(mount.path)
        self.mounts.append(mount)
        self.covers[(place.mount, place.number)] = mount

    def bind(self, source: bytes, at: bytes) -> None:
        """Show the folder or file `source` at `at` too."""
        spot = self.find(source)
        self.attach(Mount(path=at, volume=spot.mount.volume, top=spot.number, source=source.decode()))

    def unmount(self, at: bytes) -> None:
        """Take away the newest mount at the path."""
        mount = next(mount for mount in reversed(self.mounts) if mount.path == at)
        self.mounts.remove(mount)
        self.covers = {place: found for place, found in self.covers.items() if found is not mount}
