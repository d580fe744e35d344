"""The workshop around this machine: a real folder on a real volume, real processes, real kills."""

import itertools
import os
import shutil
import signal
import stat
import subprocess
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from artifactctl.domain.artifacts import Root
from artifactctl.domain.observation import HolderKind
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe.points import POINTS, VARIABLE
from artifactctl.hosts.protocol import Host
from tests.bench import holders
from tests.bench.volumes import Volume, fill_with_bytes
from tests.contract.workshop import Tree

WAYS: dict[HolderKind, Callable[[Path], AbstractContextManager[object]]] = {
    HolderKind.DESCRIPTOR: holders.descriptor,
    HolderKind.MAPPING: holders.mapping,
    HolderKind.WORKING_DIRECTORY: holders.working_directory,
    HolderKind.ROOT_DIRECTORY: holders.root_directory,
    HolderKind.EXECUTABLE: holders.executable,
    HolderKind.MOUNT: holders.bind_mount_elsewhere,
    HolderKind.LOOP_DEVICE: holders.loop_device,
    HolderKind.SWAP: holders.swap_file,
    HolderKind.KERNEL_LEASE: holders.descriptor_in_flight,
    HolderKind.FLOCK: holders.shared_lock,
}


_numbers = itertools.count(1)


@contextmanager
def local_workshop(volume: Volume) -> Iterator["LocalWorkshop"]:
    """A workshop in a new folder of the volume, which is as it was afterwards."""
    with folder_on(volume) as top:
        yield LocalWorkshop(volume, top)


@contextmanager
def folder_on(volume: Volume) -> Iterator[Path]:
    """A new folder of the volume; nothing that was made on the volume meanwhile is left afterwards."""
    before = set(volume.mount.iterdir())
    top = volume.mount / f"top-{next(_numbers)}"
    top.mkdir()
    try:
        yield top
    finally:
        for leftover in set(volume.mount.iterdir()) - before:
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()


class LocalWorkshop:
    """Acts in `top`, a folder of a volume of its own, as its users would."""

    def __init__(self, volume: Volume, top: os.PathLike[str]) -> None:
        self.volume = volume
        self.host: Host = LocalHost()
        self.top = os.fsencode(top)
        no_swap_there = volume.kind in ("tmpfs", "btrfs")
        self.holder_kinds: Sequence[HolderKind] = [
            kind for kind in WAYS if not (kind is HolderKind.SWAP and no_swap_there)
        ]

    def folder(self, path: bytes) -> None:
        """Make a folder, and those above it."""
        os.makedirs(path, exist_ok=True)

    def write(self, path: bytes, content: bytes) -> None:
        """Write a file in place, making its folder."""
        self.folder(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(content)

    def read(self, path: bytes) -> bytes:
        """Return the content of a file."""
        with open(path, "rb") as file:
            return file.read()

    def link(self, existing: bytes, path: bytes) -> None:
        """Give the file another name."""
        os.link(existing, path)

    def symlink(self, target: bytes, path: bytes) -> None:
        """Make a symbolic link."""
        os.symlink(target, path)

    def fifo(self, path: bytes) -> None:
        """Make a named pipe."""
        os.mkfifo(path)

    def remove(self, path: bytes) -> None:
        """Remove a file, link or whole tree."""
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def rename(self, source: bytes, destination: bytes) -> None:
        """Rename."""
        os.rename(source, destination)

    def set_modified(self, path: bytes, modified_ns: int) -> None:
        """Set mtime."""
        os.utime(path, ns=(os.lstat(path).st_atime_ns, modified_ns))

    def set_mode(self, path: bytes, mode: int) -> None:
        """Set permissions."""
        os.chmod(path, mode)

    def set_immutable(self, path: bytes, immutable: bool) -> None:
        """Set or clear the immutable attribute."""
        subprocess.run(["chattr", "+i" if immutable else "-i", path], check=True, capture_output=True)

    def exists(self, path: bytes) -> bool:
        """Whether anything stands there."""
        return os.path.lexists(path)

    def tree(self, path: bytes) -> Tree:
        """Return everything below."""
        found: Tree = {}
        pending = [b""]
        while pending:
            relative = pending.pop()
            here = os.path.join(path, relative) if relative else path
            seen = os.lstat(here)
            if stat.S_ISDIR(seen.st_mode):
                found[relative] = ("directory", b"", seen.st_ino)
                pending += [os.path.join(relative, name) for name in os.listdir(here)]
            elif stat.S_ISLNK(seen.st_mode):
                found[relative] = ("symlink", os.readlink(here), seen.st_ino)
            else:
                found[relative] = ("file", self.read(here), seen.st_ino)
        return found

    @contextmanager
    def holding(self, kind: HolderKind, path: bytes) -> Iterator[None]:
        """Let a real process, or the kernel, use it."""
        if kind is HolderKind.EXECUTABLE:
            holders.place_executable(Path(os.fsdecode(path)))
        with WAYS[kind](Path(os.fsdecode(path))):
            yield

    def writing(self, path: bytes, *, mapped: bool) -> AbstractContextManager[object]:
        """Let a real process be able to write to it."""
        way = holders.writable_mapping if mapped else holders.writable_descriptor
        return way(Path(os.fsdecode(path)))

    def bound(self, source: bytes, place: bytes) -> AbstractContextManager[object]:
        """Bind-mount one folder on another."""
        return mounted(place, "--bind", source)

    def other_volume(self, place: bytes) -> AbstractContextManager[object]:
        """Mount another filesystem."""
        return mounted(place, "-t", "tmpfs", "-o", "size=16m", "contract")

    def copy_root(self, source: bytes, destination: bytes) -> None:
        """Copy a whole tree."""
        subprocess.run(["cp", "-a", source, destination], check=True, capture_output=True)

    def fill(self) -> None:
        """Leave not a byte."""
        fill_with_bytes(self.volume)

    def kill_points(self, verb: str) -> Sequence[object]:
        """Return the points inside the verb, and those inside the journal's append."""
        return [point for point in POINTS if point.startswith((verb.replace("_", "-") + ":", "journal:"))]

    def killed_at(self, point: object, action: Callable[[], object]) -> bool:
        """Do it in a child process that kills itself at the point."""
        child = os.fork()
        if child == 0:
            _run_child(str(point), action)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            return True
        assert os.WEXITSTATUS(status) == 0, "the action failed instead of being killed (its traceback is on stderr)"
        return False

    def take_lock_away(self, root: Root) -> None:
        """Remove the lock file, as somebody does who believes its holder is gone."""
        os.unlink(root.path + b"/.artifactctl/lock")


def _run_child(point: str, action: Callable[[], object]) -> None:
    """Never returns."""
    status = 1
    try:
        os.environ[VARIABLE] = f"{point}=kill"
        action()
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


@contextmanager
def mounted(place: bytes, *how: str | bytes) -> Iterator[None]:
    """Mount something on a folder for a while; the folder may be renamed meanwhile."""
    subprocess.run(["mount", *how, place], check=True, capture_output=True)
    holder = os.open(place, os.O_PATH | os.O_DIRECTORY)
    try:
        yield
    finally:
        now_at = os.readlink(f"/proc/self/fd/{holder}")
        os.close(holder)
        subprocess.run(["umount", now_at], check=True, capture_output=True)
