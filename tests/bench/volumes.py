"""Throw-away filesystems on sparse images, and what can happen to a disk: full, out of inodes, power cut.

Only for use inside the sandbox: whatever a killed test leaves mounted goes away with it.
"""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

MIB = 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT)
BUSY_SECONDS = 10.0


class FilesystemKind(StrEnum):
    """The local filesystems that artifactctl promises to understand."""

    EXT4 = "ext4"
    XFS = "xfs"
    BTRFS = "btrfs"
    TMPFS = "tmpfs"


DEFAULT_SIZE_BYTES = {
    FilesystemKind.EXT4: 256 * MIB,
    FilesystemKind.XFS: 320 * MIB,  # mkfs.xfs refuses less than 300 MiB
    FilesystemKind.BTRFS: 256 * MIB,  # mkfs.btrfs needs about 110 MiB
    FilesystemKind.TMPFS: 64 * MIB,
}

MAKE_COMMANDS: dict[FilesystemKind, tuple[str, ...]] = {
    FilesystemKind.EXT4: ("mkfs.ext4", "-qF"),
    FilesystemKind.XFS: ("mkfs.xfs", "-qf"),
    FilesystemKind.BTRFS: ("mkfs.btrfs", "-qf"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One mounted filesystem. `image` is the sparse file it lives on, None for tmpfs."""

    kind: FilesystemKind
    mount: Path
    image: Path | None
    mount_options: str = ""

    def unmount(self) -> None:
        """Unmount, see `unmount`."""
        unmount(self.mount)

    def attach(self, image: Path | None = None) -> None:
        """Mount again at the same place: its own image, or `image` instead."""
        source = image or self.image
        if source is None:
            raise ValueError(f"{self.mount} is a tmpfs: its content went with the unmount")
        options = ",".join(filter(None, ("loop", self.mount_options)))
        _run("mount", "-t", self.kind, "-o", options, source, self.mount)

    def remount(self) -> None:
        """Unmount and mount again, which replays the filesystem's own journal; st_dev may change."""
        self.unmount()
        self.attach()

    def available_bytes(self) -> int:
        """Return what df calls available."""
        usage = os.statvfs(self.mount)
        return usage.f_bavail * usage.f_frsize


@contextmanager
def mounted_volume(
    kind: FilesystemKind,
    place: Path,
    *,
    images: Path | None = None,
    size_bytes: int | None = None,
    inodes: int | None = None,
    make_options: Sequence[str] = (),
    mount_options: str = "",
) -> Iterator[Volume]:
    """Make a filesystem of `size_bytes`, mounted on a new folder in `place` while the context lasts.

    `inodes` limits the number of files on ext4 and tmpfs. The image lies in `images` (else in `place`) and is removed
    afterwards: filled, it is as large on the real disk as it says.
    """
    if inodes is not None and kind not in (FilesystemKind.EXT4, FilesystemKind.TMPFS):
        raise ValueError(f"{kind} makes inodes as it needs them; limit them on ext4 or tmpfs")
    size = size_bytes or DEFAULT_SIZE_BYTES[kind]
    mount = place / f"{kind}-volume"
    mount.mkdir()
    if kind is FilesystemKind.TMPFS:
        volume = _mount_tmpfs(mount, size, inodes, mount_options)
    else:
        limit = ("-N", str(inodes)) if inodes is not None else ()
        image = (images or place) / f"{kind}-{place.name}.image"
        image.touch(exist_ok=False)
        os.truncate(image, size)
        _run(*MAKE_COMMANDS[kind], *limit, *make_options, image)
        volume = Volume(kind=kind, mount=mount, image=image, mount_options=mount_options)
        volume.attach()
    try:
        yield volume
    finally:
        if os.path.ismount(mount):
            volume.unmount()
        if volume.image is not None:
            volume.image.unlink()
        mount.rmdir()


def _mount_tmpfs(mount: Path, size_bytes: int, inodes: int | None, mount_options: str) -> Volume:
    limit = f"nr_inodes={inodes}" if inodes is not None else ""
    options = ",".join(filter(None, (f"size={size_bytes}", limit, mount_options)))
    _run("mount", "-t", "tmpfs", "-o", options, "bench-tmpfs", mount)
    return Volume(kind=FilesystemKind.TMPFS, mount=mount, image=None, mount_options=mount_options)


def unmount(place: Path) -> None:
    """Unmount what is mounted at `place`; VolumeTrouble when something still uses it after some seconds.

    What a killed process had open is closed a moment after the kill, later when that was in the middle of a write.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return _run("umount", place)
        except VolumeTrouble as trouble:
            if "busy" not in str(trouble) or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def fill_with_bytes(volume: Volume, *, leave_bytes: int = 0) -> Path:
    """Write until the volume refuses one more byte (or `leave_bytes` are available); return the folder of fillers.

    The folder is made first, since a full ext4 or xfs cannot even make one.
    """
    folder = volume.mount / "filler"
    folder.mkdir()
    for chunk_bytes in (4 * MIB, 64 * 1024, 512):
        _write_until_full(folder / f"by-{chunk_bytes}", chunk_bytes, volume, leave_bytes)
    os.sync()
    return folder


def _write_until_full(path: Path, chunk_bytes: int, volume: Volume, leave_bytes: int) -> None:
    block = os.urandom(chunk_bytes)  # not zeros: a compressing filesystem would never fill
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return
    try:
        # btrfs gives up space only at a commit; every write is flushed so that the disk, not the cache, says no.
        while not leave_bytes or volume.available_bytes() - leave_bytes >= chunk_bytes:
            os.write(descriptor, block)
            os.fdatasync(descriptor)
    except OSError as error:
        if error.errno not in FULL:
            raise
    finally:
        os.close(descriptor)


def fill_with_files(volume: Volume) -> Path:
    """Make empty files until the volume has no inode left; return their folder."""
    folder = volume.mount / "inode-filler"
    folder.mkdir()
    count = 0
    while True:
        try:
            os.close(os.open(folder / str(count), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            if error.errno not in FULL:
                raise
            return folder
        count += 1


def crash_copy(volume: Volume, destination: Path) -> Path:
    """Copy the mounted volume's image as the disk has it now: what a power cut at this instant would leave."""
    if volume.image is None:
        raise ValueError("a tmpfs leaves nothing after a power cut")
    _run("cp", "--sparse=always", volume.image, destination)
    return destination


@contextmanager
def revived(volume: Volume, copy: Path) -> Iterator[Volume]:
    """Mount a crash copy at the place of its original, which is unmounted meanwhile: both carry the same UUID."""
    volume.unmount()
    volume.attach(copy)
    try:
        yield volume
    finally:
        volume.unmount()
        volume.attach()


def cut_power(volume: Volume, *, flush_log: bool = False) -> None:
    """Stop an ext4 or xfs volume as a power cut would; what was not on the disk is lost. `remount` brings it back."""
    if volume.kind not in (FilesystemKind.EXT4, FilesystemKind.XFS):
        raise ValueError(f"{volume.kind} knows no shutdown; use crash_copy and revived")
    _run("xfs_io", "-x", "-c", "shutdown -f" if flush_log else "shutdown", volume.mount)


def missing_programs() -> tuple[str, ...]:
    """Return the programs the volumes need and this machine lacks."""
    wanted = ("mount", "umount", "xfs_io", "bindfs", *(command[0] for command in MAKE_COMMANDS.values()))
    return tuple(name for name in wanted if shutil.which(name) is None)


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise VolumeTrouble(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class VolumeTrouble(RuntimeError):
    """A filesystem could not be made, mounted or unmounted."""
