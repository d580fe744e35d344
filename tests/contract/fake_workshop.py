"""The workshop around the in-memory machine."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from artifactctl.domain.artifacts import Root
from artifactctl.domain.observation import HolderKind
from artifactctl.hosts.protocol import EntryType, Host
from tests.contract.workshop import Tree
from tests.fakes.disk import Mount
from tests.fakes.machine import FakeMachine
from tests.fakes.processes import PlantedHolder
from tests.fakes.steps import Killed
from tests.fakes.volume import MIB, Volume

MORE_STEPS_THAN_ANY_VERB = 40


class FakeWorkshop:
    """Acts on a `FakeMachine` as its users would."""

    holder_kinds: Sequence[HolderKind] = tuple(HolderKind)

    def __init__(self) -> None:
        self.machine = FakeMachine()
        self.host: Host = self.machine
        self.top = b"/data"
        self.volume = self.machine.add_volume(self.top, size_bytes=256 * MIB)

    def folder(self, path: bytes) -> None:
        """Make a folder, and those above it."""
        if not self.exists(path):
            self.folder(posixpath.dirname(path))
            self.machine.do.mkdir(path)

    def write(self, path: bytes, content: bytes) -> None:
        """Write a file, making its folder."""
        self.folder(posixpath.dirname(path))
        self.machine.do.write(path, content)

    def read(self, path: bytes) -> bytes:
        """Return the content of a file."""
        return self.machine.do.read_by_somebody(path)

    def link(self, existing: bytes, path: bytes) -> None:
        """Give the file another name."""
        self.machine.do.link(existing, path)

    def symlink(self, target: bytes, path: bytes) -> None:
        """Make a symbolic link."""
        self.machine.do.symlink(target, path)

    def fifo(self, path: bytes) -> None:
        """Make a named pipe."""
        self.machine.do.mkspecial(path, "fifo")

    def remove(self, path: bytes) -> None:
        """Remove a file, link or whole tree."""
        inode = self.machine.disk.find(path).inode
        if inode.type is not EntryType.DIRECTORY:
            self.machine.do.unlink(path)
            return
        for name in tuple(inode.entries):
            self.remove(posixpath.join(path, name))
        self.machine.do.rmdir(path)

    def rename(self, source: bytes, destination: bytes) -> None:
        """Rename."""
        self.machine.do.rename(source, destination)

    def set_modified(self, path: bytes, modified_ns: int) -> None:
        """Set mtime."""
        self.machine.do.touch(path, modified_ns)

    def set_mode(self, path: bytes, mode: int) -> None:
        """Set permissions."""
        self.machine.do.chmod(path, mode)

    def set_immutable(self, path: bytes, immutable: bool) -> None:
        """Set or clear the immutable attribute."""
        self.machine.disk.find(path).inode.immutable = immutable

    def exists(self, path: bytes) -> bool:
        """Whether anything stands there."""
        return self.machine.disk.exists(path)

    def tree(self, path: bytes) -> Tree:
        """Return everything below."""
        found: Tree = {}
        pending = [b""]
        while pending:
            relative = pending.pop()
            inode = self.machine.disk.find(posixpath.join(path, relative) if relative else path).inode
            found[relative] = (inode.type.value, inode.link_target or inode.content, inode.number)
            pending += [posixpath.join(relative, name) for name in inode.entries]
        return found

    def holding(self, kind: HolderKind, path: bytes) -> PlantedHolder:
        """Let a process use it."""
        return self.machine.processes.hold(path, kind, visible=kind is not HolderKind.KERNEL_LEASE)

    def writing(self, path: bytes, *, mapped: bool) -> PlantedHolder:
        """Let a process be able to write to it."""
        kind = HolderKind.MAPPING if mapped else HolderKind.DESCRIPTOR
        return self.machine.processes.hold(path, kind, writes=True)

    @contextmanager
    def bound(self, source: bytes, place: bytes) -> Iterator[None]:
        """Bind-mount one folder on another."""
        self.machine.disk.bind(source, place)
        mount = self.machine.disk.mounts[-1]
        yield
        self.machine.disk.unmount(mount.path)

    @contextmanager
    def other_volume(self, place: bytes) -> Iterator[None]:
        """Mount another filesystem."""
        volume = Volume(uuid="other", type="xfs", size_bytes=64 * MIB, clock=self.machine.clock)
        mount = Mount(path=place, volume=volume, top=2, source="/dev/other")
        self.machine.disk.attach(mount)
        yield
        self.machine.disk.unmount(mount.path)

    def copy_root(self, source: bytes, destination: bytes) -> None:
        """Copy a whole tree."""
        for relative, (kind, content, _) in sorted(self.tree(source).items()):
            path = posixpath.join(destination, relative) if relative else destination
            if kind == EntryType.DIRECTORY:
                self.folder(path)
            elif kind == EntryType.SYMLINK:
                self.symlink(content, path)
            else:
                self.write(path, content)

    def fill(self) -> None:
        """Leave not a byte."""
        self.volume.foreign_bytes += self.volume.available_bytes

    def kill_points(self, verb: str) -> Sequence[object]:
        """Return step numbers; those after the last step kill nothing."""
        del verb  # a step is numbered alike in every verb
        return [(number, after) for number in range(1, MORE_STEPS_THAN_ANY_VERB) for after in (False, True)]

    def killed_at(self, point: object, action: Callable[[], object]) -> bool:
        """Do it, and die at the step."""
        assert isinstance(point, tuple)
        number, after = point
        self.machine.restart()
        self.machine.kill_at(number, after=after)
        try:
            action()
        except Killed:
            return True
        finally:
            self.machine.restart()
        return False

    def take_lock_away(self, root: Root) -> None:
        """Let another machine take the lock over."""
        self.machine.locks.steal(root)
