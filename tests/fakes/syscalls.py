"""The calls that change the fake disk. Each is atomic, and refuses with the errno that Linux gives."""

import errno

from artifactctl.hosts.protocol import EntryType
from tests.fakes.disk import Disk, Mount, Spot, refuse
from tests.fakes.inodes import Inode


class Syscalls:
    """mkdir, write, link, unlink, rename and friends on one disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def mkdir(self, path: bytes) -> None:
        """Make one folder; EEXIST when something is there."""
        self._create(path, EntryType.DIRECTORY)

    def symlink(self, target: bytes, path: bytes) -> None:
        """Make a link at `path` that says `target`."""
        inode = self._create(path, EntryType.SYMLINK)
        inode.link_target, inode.size_bytes = target, len(target)

    def mkspecial(self, path: bytes, kind: str) -> None:
        """Make a fifo, socket or device."""
        self._create(path, EntryType.OTHER).special = kind

    def write(self, path: bytes, content: bytes, *, size_bytes: int | None = None, sparse: bool = False) -> None:
        """Give the file exactly this content, creating it; the inode stays the same when it exists."""
        spot = self.disk.look(path)
        inode = self._create(path, EntryType.FILE) if spot is None else spot.inode
        mount = self.disk.parent(path)[0].mount if spot is None else spot.mount
        if inode.immutable or inode.append_only:
            raise refuse(errno.EPERM, path)
        size = len(content) if size_bytes is None else size_bytes
        try:
            mount.volume.resize(inode, size, allocated_bytes=0 if sparse else None)
        except OSError:
            if spot is None:  # as the kernel: the empty file stays, but a test wants no litter from a refused write
                self.unlink(path)
            raise
        inode.content = content
        self._changed(mount, inode)

    def append(self, path: bytes, content: bytes) -> None:
        """Add to the end of the file."""
        spot = self.disk.find(path)
        spot.mount.volume.resize(spot.inode, spot.inode.size_bytes + len(content))
        spot.inode.content += content
        self._changed(spot.mount, spot.inode)

    def link(self, existing: bytes, path: bytes) -> None:
        """Give the inode another name on the same mount."""
        spot = self.disk.find(existing)
        folder, name = self.disk.parent(path)
        if folder.mount is not spot.mount:
            raise refuse(errno.EXDEV, path)
        self._check_free(folder, name, path)
        folder.inode.entries[name] = spot.number
        spot.inode.links += 1
        spot.inode.changed_ns = spot.mount.volume.clock.stamp()
        self._changed(folder.mount, folder.inode)

    def unlink(self, path: bytes) -> None:
        """Remove the name of something that is not a folder."""
        spot, folder, name = self._named(path)
        if spot.inode.type is EntryType.DIRECTORY:
            raise refuse(errno.EISDIR, path)
        self._remove(spot, folder, name)

    def rmdir(self, path: bytes) -> None:
        """Remove an empty folder."""
        spot, folder, name = self._named(path)
        if spot.inode.type is not EntryType.DIRECTORY:
            raise refuse(errno.ENOTDIR, path)
        if spot.inode.entries:
            raise refuse(errno.ENOTEMPTY, path)
        self._remove(spot, folder, name)

    def rename(self, source: bytes, destination: bytes) -> None:
        """renameat2 with NOREPLACE: EEXIST when something stands at the destination."""
        spot, folder, name = self._named(source)
        new_folder, new_name = self.disk.parent(destination)
        if new_folder.mount is not folder.mount:
            raise refuse(errno.EXDEV, destination)
        self._check_free(new_folder, new_name, destination)
        del folder.inode.entries[name]
        new_folder.inode.entries[new_name] = spot.number
        spot.inode.changed_ns = spot.mount.volume.clock.stamp()
        self._changed(folder.mount, folder.inode)
        self._changed(new_folder.mount, new_folder.inode)
        for mount in self.disk.mounts:  # what is mounted below travels along
            if mount.path.startswith(source + b"/"):
                mount.path = destination + mount.path[len(source) :]

    def replace(self, source: bytes, destination: bytes) -> None:
        """rename(2) of a file over another file, atomically."""
        if self.disk.exists(destination):
            self.unlink(destination)
        self.rename(source, destination)

    def touch(self, path: bytes, modified_ns: int) -> None:
        """utimensat: set mtime; ctime becomes now."""
        spot = self.disk.find(path)
        spot.inode.modified_ns = modified_ns
        spot.inode.changed_ns = spot.mount.volume.clock.stamp()

    def chmod(self, path: bytes, mode: int) -> None:
        """Set permissions; ctime becomes now."""
        spot = self.disk.find(path)
        spot.inode.mode = mode
        spot.inode.changed_ns = spot.mount.volume.clock.stamp()

    def read_by_somebody(self, path: bytes) -> bytes:
        """Read the whole file as a user would: atime becomes now."""
        spot = self.disk.find(path)
        spot.inode.read_ns = spot.mount.volume.clock.stamp()
        return spot.inode.read(0, spot.inode.size_bytes)

    def _named(self, path: bytes) -> tuple[Spot, Spot, bytes]:
        """Return what stands at `path` with its folder, after the checks common to unlink, rmdir and rename."""
        spot = self.disk.find(path)
        folder, name = self.disk.parent(path)
        if folder.mount is not spot.mount:
            raise refuse(errno.EBUSY, path)
        self._check_writable(folder, path)
        user = self.disk.user
        if folder.inode.sticky and user not in (0, folder.inode.owner, spot.inode.owner):
            raise refuse(errno.EPERM, path)
        if spot.inode.immutable or spot.inode.append_only or folder.inode.append_only:
            raise refuse(errno.EPERM, path)
        return spot, folder, name

    def _create(self, path: bytes, kind: EntryType) -> Inode:
        folder, name = self.disk.parent(path)
        self._check_free(folder, name, path)
        inode = folder.mount.volume.create(kind, owner=self.disk.user)
        folder.inode.entries[name] = inode.number
        self._changed(folder.mount, folder.inode)
        return inode

    def _check_free(self, folder: Spot, name: bytes, path: bytes) -> None:
        if name in folder.inode.entries:
            raise refuse(errno.EEXIST, path)
        self._check_writable(folder, path)

    def _check_writable(self, folder: Spot, path: bytes) -> None:
        if folder.mount.read_only:
            raise refuse(errno.EROFS, path)
        if folder.inode.immutable:
            raise refuse(errno.EPERM, path)
        if not folder.inode.writable_by(self.disk.user):
            raise refuse(errno.EACCES, path)

    def _remove(self, spot: Spot, folder: Spot, name: bytes) -> None:
        del folder.inode.entries[name]
        spot.inode.links -= 1
        spot.inode.changed_ns = spot.mount.volume.clock.stamp()
        self._changed(folder.mount, folder.inode)
        spot.mount.volume.drop_if_unused(spot.inode)

    @staticmethod
    def _changed(mount: Mount, inode: Inode) -> None:
        inode.modified_ns = inode.changed_ns = mount.volume.clock.stamp()
