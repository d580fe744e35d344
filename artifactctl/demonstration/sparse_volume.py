"""A folder in memory, and in it a real XFS volume of 12 TB on a sparse file.

The file loses its name as soon as it is mounted: from then on the mount alone keeps it, so that whatever ends the mount
(`umount`, or the end of the last process in this mount table, see `private_mounts`) ends the loop device and the file.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from artifactctl.demonstration.private_mounts import leave_shared_mounts

SIZE_BYTES = 12_150 * 10**9
"""A "12 TB" volume of which df says 12T, and 10% of 1021G used: those two leave 11.00 to 11.08 TiB."""

LOG_SIZE = "64m"
"""A log of the size that mkfs.xfs would choose costs 2 GiB of real disk, this one 64 MiB."""

NEEDED_FREE_BYTES = 512 * 1024**2
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"  # not in everybody's PATH


class NoVolumeHere(Exception):
    """This machine or user cannot make such a volume; the message is the reason, as a clause."""


@contextmanager
def folder_in_memory(folder: Path) -> Iterator[None]:
    """Cover `folder` with a filesystem in memory in a mount table of this process's own; NoVolumeHere without root.

    What is written there goes with the process. It also is a place the tool can judge, which the folder below it need
    not be: a layer of a container's image, or the top of a chroot, which no mount table names.
    """
    if os.geteuid() != 0:
        raise NoVolumeHere("that takes root")
    try:
        try:
            leave_shared_mounts()
            _run(_program("mount"), "-t", "tmpfs", "-o", "mode=700", "artifactctl-demo", str(folder))
        except OSError as error:
            raise NoVolumeHere(f"nothing can be mounted here ({error})") from error
        yield
    finally:
        _unmount(folder)


def mount_sparse_volume(point: Path, *, image: Path) -> None:
    """Mount the volume on a folder in memory, which ends it; `image` is where its file lies for a moment.

    NoVolumeHere when something it takes is missing or fails.
    """
    _check_what_it_takes(image.parent)
    try:
        with open(image, "xb") as file:
            file.truncate(SIZE_BYTES)
        _run(_program("mkfs.xfs"), "-q", "-l", f"size={LOG_SIZE}", str(image))
        _run(_program("mount"), "-t", "xfs", "-o", "loop", str(image), str(point))
    except OSError as error:
        raise NoVolumeHere(f"no volume could be made: {error}") from error
    finally:
        image.unlink(missing_ok=True)


def _check_what_it_takes(place: Path) -> None:
    """Raise NoVolumeHere when something that can be known beforehand is missing."""
    if not os.path.exists("/dev/loop-control"):
        raise NoVolumeHere("there are no loop devices here")
    _program("mkfs.xfs")
    usage = os.statvfs(place)
    if usage.f_bavail * usage.f_frsize < NEEDED_FREE_BYTES:
        raise NoVolumeHere(f"{place} has less than 512 MiB to spare (--dir names another place)")


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}")
    if found is None:
        package = "xfsprogs" if name == "mkfs.xfs" else "mount"
        raise NoVolumeHere(f"{name} is not installed (package {package})")
    return found


def _unmount(point: Path) -> None:
    """Unmount all at and below `point`; where a killed process has not quite ended, it goes as soon as it has."""
    while os.path.ismount(point):
        try:
            _run(_program("umount"), "--recursive", str(point))
        except OSError:
            _run(_program("umount"), "--recursive", "--lazy", str(point))


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().replace("\n", "; ") or f"{command[0]} ended with code {done.returncode}")
