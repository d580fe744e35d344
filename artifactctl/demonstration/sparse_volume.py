"""A real XFS volume of 12 TB on a sparse file, for as long as a context lasts.

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
def sparse_volume(folder: Path) -> Iterator[Path]:
    """Yield the mount point, `folder`/volume; NoVolumeHere when that cannot be."""
    programs = _programs(folder)
    image, mount = folder / "volume.img", folder / "volume"
    mount.mkdir()
    try:
        try:
            leave_shared_mounts()
            with open(image, "xb") as file:
                file.truncate(SIZE_BYTES)
            _run(programs["mkfs.xfs"], "-q", "-l", f"size={LOG_SIZE}", str(image))
            _run(programs["mount"], "-t", "xfs", "-o", "loop", str(image), str(mount))
        except OSError as error:
            raise NoVolumeHere(f"no volume could be made: {error}") from error
        finally:
            image.unlink(missing_ok=True)
        yield mount
    finally:
        if os.path.ismount(mount):
            _unmount(programs["umount"], mount)


def _programs(folder: Path) -> dict[str, str]:
    """Return where the programs are; NoVolumeHere when something that can be known beforehand is missing."""
    if os.geteuid() != 0:
        raise NoVolumeHere("that takes root")
    if not os.path.exists("/dev/loop-control"):
        raise NoVolumeHere("there are no loop devices here")
    search = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}"
    found = {name: shutil.which(name, path=search) for name in ("mkfs.xfs", "mount", "umount")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        package = "xfsprogs" if missing == ["mkfs.xfs"] else "mount"
        raise NoVolumeHere(f"{missing[0]} is not installed (package {package})")
    usage = os.statvfs(folder)
    if usage.f_bavail * usage.f_frsize < NEEDED_FREE_BYTES:
        raise NoVolumeHere(f"{folder.parent} has less than 512 MiB to spare (--dir names another place)")
    return {name: path for name, path in found.items() if path is not None}


def _unmount(program: str, mount: Path) -> None:
    """Unmount; where a process that was killed has not quite ended, the mount goes as soon as it has."""
    try:
        _run(program, str(mount))
    except OSError:
        _run(program, "--lazy", str(mount))


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().replace("\n", "; ") or f"{command[0]} ended with code {done.returncode}")
