"""Real processes, mounts and kernel objects that keep a file or folder in use.

Each is a context manager that enters once the hold is really established (the process said so through a pipe) and
ends it cleanly. Process holders yield the pid that has to be named; where the kernel itself holds there is no pid.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from artifactctl.domain.observation import HolderKind
from tests.bench.volumes import unmount

PROGRAM = Path(__file__).with_name("holding.py")
END_SECONDS = 20


class HolderTrouble(RuntimeError):
    """A process could not take its hold; the message carries what it said."""


@contextmanager
def process(command: Sequence[str | Path], *, greeting: bytes = b"") -> Iterator[int]:
    """Run `command` until the context ends, entering when it has written `held`.

    `greeting` is sent to it first: a copy of `cat` proves that it runs by giving it back.
    """
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        os.write(child.stdin.fileno(), greeting)
        if child.stdout.readline() != b"held\n":
            _, said = child.communicate(timeout=END_SECONDS)
            raise HolderTrouble(f"{' '.join(map(str, command))}: {said.decode(errors='replace')}")
        yield child.pid
    finally:
        _end(child)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            process.communicate(timeout=END_SECONDS)  # closes its standard input, which is its sign to end
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _holding(way: str, path: Path, *, prefix: Sequence[str] = ()) -> AbstractContextManager[int]:
    return process([*prefix, sys.executable, "-I", PROGRAM, way, path])


def descriptor(path: Path) -> AbstractContextManager[int]:
    """A file (or folder) open for reading."""
    return _holding("descriptor", path)


def location_descriptor(path: Path) -> AbstractContextManager[int]:
    """A file or folder open with O_PATH only: the kernel grants leases beside it."""
    return _holding("location_descriptor", path)


def mapping(path: Path, *, prefix: Sequence[str] = ()) -> AbstractContextManager[int]:
    """A mapped file whose descriptor is closed; `prefix` starts the process in another way (`setpriv ...`)."""
    return _holding("mapping", path, prefix=prefix)


def writable_descriptor(path: Path) -> AbstractContextManager[int]:
    """A file open for reading and writing, to which nothing is written."""
    return _holding("writable_descriptor", path)


def writable_mapping(path: Path) -> AbstractContextManager[int]:
    """A file mapped writable and shared, its descriptor closed; nothing is written before a line is read."""
    return _holding("writable_mapping", path)


def working_directory(path: Path) -> AbstractContextManager[int]:
    """A process that stands in the folder."""
    return _holding("working_directory", path)


def root_directory(path: Path) -> AbstractContextManager[int]:
    """A process whose root directory is the folder."""
    return _holding("root_directory", path)


def bind_mount_elsewhere(path: Path) -> AbstractContextManager[int]:
    """A process in another mount namespace that has the file or folder bound to a place of its own."""
    return _holding("bind_mount", path, prefix=["unshare", "--mount", "--propagation", "private"])


def descriptor_in_flight(path: Path) -> AbstractContextManager[int]:
    """A descriptor that lies in a socket's queue: no table shows it, only a refused lease does. The pid is the owner's
    of the socket, which nothing can name."""
    return _holding("descriptor_in_flight", path)


def thread_descriptor(path: Path) -> AbstractContextManager[int]:
    """A file open in a thread with a descriptor table of its own; yields the pid of the process."""
    return _holding("thread_descriptor", path)


def writing(path: Path) -> AbstractContextManager[int]:
    """A process that appends 640 KiB a second to the file, which is made if absent."""
    return _holding("writing", path)


def executable(path: Path) -> AbstractContextManager[int]:
    """The program at `path` running: a copy of `cat`, put there by `place_executable`."""
    return process([path], greeting=b"held\n")


def place_executable(path: Path) -> Path:
    """Copy a program that `executable` can run to `path`."""
    found = shutil.which("cat")
    if found is None:
        raise HolderTrouble("no `cat` on this machine")
    shutil.copyfile(found, path)
    path.chmod(0o755)
    return path


def shared_lock(path: Path) -> AbstractContextManager[int]:
    """`flock -s PATH`: an advisory lock on a file or folder by a process that needs nothing of ours."""
    return process(["flock", "--shared", "--no-fork", path, "cat"], greeting=b"held\n")


@contextmanager
def bind_mount(source: Path, place: Path) -> Iterator[None]:
    """Bind `source` onto the existing `place` in this mount namespace."""
    _run("mount", "--bind", source, place)
    try:
        yield
    finally:
        unmount(place)


@contextmanager
def loop_device(path: Path) -> Iterator[Path]:
    """The file as the backing of a loop device; yields the device."""
    device = Path(_run("losetup", "--find", "--show", path).strip())
    try:
        yield device
    finally:
        _run("losetup", "--detach", device)


@contextmanager
def swap_file(path: Path) -> Iterator[None]:
    """The file in use as swap. Its content is overwritten, and it must be fully allocated (64 KiB or more).

    Swap is the whole machine's: a killed test leaves it on, which pins the volume until `swapoff`.
    """
    path.chmod(0o600)
    _run("mkswap", "--quiet", path)
    _run("swapon", path)
    try:
        yield
    finally:
        _run("swapoff", path)


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HolderTrouble(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Target(StrEnum):
    """What a way of holding needs to stand at its path."""

    FILE = "file"
    FOLDER = "folder"
    EXECUTABLE = "executable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One way of holding, as the tool has to report it.

    `kinds` are the kinds a report may give (any one is right). `pid_is_known` says whether the look of root can name
    the process, `refuses_lease` whether the kernel refuses a write lease on the file meanwhile.
    """

    name: str
    target: Target
    kinds: frozenset[HolderKind]
    pid_is_known: bool
    refuses_lease: bool
    establish: Callable[[Path], AbstractContextManager[object]]


def _hold(
    establish: Callable[[Path], AbstractContextManager[object]],
    target: Target,
    *kinds: HolderKind,
    pid_is_known: bool = True,
    refuses_lease: bool = True,
) -> Hold:
    return Hold(
        name=establish.__name__,
        target=target,
        kinds=frozenset(kinds),
        pid_is_known=pid_is_known,
        refuses_lease=refuses_lease,
        establish=establish,
    )


HOLDS: tuple[Hold, ...] = (
    _hold(descriptor, Target.FILE, HolderKind.DESCRIPTOR),
    _hold(location_descriptor, Target.FILE, HolderKind.DESCRIPTOR, refuses_lease=False),
    _hold(mapping, Target.FILE, HolderKind.MAPPING),
    _hold(working_directory, Target.FOLDER, HolderKind.WORKING_DIRECTORY, refuses_lease=False),
    _hold(root_directory, Target.FOLDER, HolderKind.ROOT_DIRECTORY, refuses_lease=False),
    _hold(executable, Target.EXECUTABLE, HolderKind.EXECUTABLE, HolderKind.MAPPING),
    _hold(bind_mount_elsewhere, Target.FILE, HolderKind.MOUNT, refuses_lease=False),
    _hold(descriptor_in_flight, Target.FILE, HolderKind.KERNEL_LEASE, pid_is_known=False),
    _hold(thread_descriptor, Target.FILE, HolderKind.DESCRIPTOR),
    _hold(writing, Target.FILE, HolderKind.DESCRIPTOR),
    _hold(shared_lock, Target.FILE, HolderKind.FLOCK, HolderKind.DESCRIPTOR),
    _hold(loop_device, Target.FILE, HolderKind.LOOP_DEVICE, HolderKind.KERNEL_LEASE, pid_is_known=False),
    _hold(swap_file, Target.FILE, HolderKind.SWAP, HolderKind.KERNEL_LEASE, pid_is_known=False),
)
"""Every way that needs one path; `bind_mount` needs two. Parametrise with `ids=hold_name`."""


def hold_name(hold: Hold) -> str:
    """Return the words for a test's id."""
    return hold.name.replace("_", " ")


def prepare(hold: Hold, folder: Path) -> Path:
    """Make in `folder` (on ext4 or xfs) what the hold needs and return its path."""
    place = folder / f"held-{hold.name}"
    match hold.target:
        case Target.FOLDER:
            place.mkdir()
        case Target.EXECUTABLE:
            place_executable(place)
        case Target.FILE:
            place.write_bytes(os.urandom(256 * 1024))
    return place
