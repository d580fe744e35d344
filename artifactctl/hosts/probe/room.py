"""Room to act on a full disk: ballast files to let go, and operation folders made ahead of need.

Ballast is several files and released by unlink: truncating one frees nothing on btrfs. What was used is made anew as
soon as the volume has plenty of space again.
"""

from __future__ import annotations

import errno
import os
import time
import uuid
from contextlib import suppress
from typing import Callable, List, TypeVar

from artifactctl.hosts.probe import durable, kernel, places
from artifactctl.hosts.probe.renaming import rename_privately
from artifactctl.hosts.probe.rootfolder import give_to_owner, make_folder

BALLAST_FILES = 16  # many, since each gives back an inode as well
_LEAST_BALLAST_BYTES, _MOST_BALLAST_BYTES = 1 << 20, 64 << 20  # together; a manifest of a million members needs 25 MiB
_BALLAST_SHARE = 100_000
SPARE_FOLDERS = 8
MANIFEST_AHEAD_BYTES, NOTE_AHEAD_BYTES = 32 << 10, 16 << 10
_PLENTY_BYTES = 64 << 20
_FREEING_SECONDS = 0.5  # xfs and btrfs give freed blocks back a moment later

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

Answer = TypeVar("Answer")


def with_room(private_fd: int, action: Callable[[], Answer]) -> Answer:
    """Return `action()`; each time it meets a full disk, let one ballast file go and do it again from its start."""
    while True:
        try:
            return action()
        except OSError as error:
            if error.errno not in NO_ROOM or not release_ballast(private_fd):
                raise


def release_ballast(private_fd: int) -> bool:
    """Unlink one ballast file and wait a moment for its blocks; False when none is left."""
    try:
        folder = os.open(places.BALLAST, _FOLDER, dir_fd=private_fd)
    except FileNotFoundError:
        return False
    try:
        names = sorted(os.listdir(folder))
        if not names:
            return False
        before = os.fstatvfs(folder).f_bavail
        os.unlink(names[-1], dir_fd=folder)
        kernel.syncfs(folder)
        deadline = time.monotonic() + _FREEING_SECONDS
        while os.fstatvfs(folder).f_bavail <= before and time.monotonic() < deadline:
            time.sleep(0.01)
        return True
    finally:
        os.close(folder)


def make_room(private_fd: int, quarantine_fd: int) -> None:
    """Make missing ballast and spare folders; ENOSPC when the disk has no space for them."""
    _make_ballast(private_fd)
    _widen(quarantine_fd)
    for _ in range(SPARE_FOLDERS - len(spare_folders(quarantine_fd))):
        _make_spare(quarantine_fd)
    durable.flush_folder(quarantine_fd)


def make_room_if_plenty(private_fd: int, quarantine_fd: int) -> None:
    """The same, but never with a volume's last bytes; a disk that fills meanwhile is no failure."""
    volume = os.fstatvfs(private_fd)
    if volume.f_bavail * volume.f_frsize < _PLENTY_BYTES:
        return
    try:
        make_room(private_fd, quarantine_fd)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise


def _widen(quarantine_fd: int) -> None:
    """Let the folder have a block of its own for names: xfs keeps few in the inode and then needs a new block."""
    for number in b"01":
        name = b"padding-%c-" % number + b"x" * 200
        with suppress(FileExistsError):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=quarantine_fd))


def _make_ballast(private_fd: int) -> None:
    with suppress(FileExistsError):
        make_folder(places.BALLAST, private_fd)
    folder = os.open(places.BALLAST, _FOLDER, dir_fd=private_fd)
    try:
        present = set(os.listdir(folder))
        size = _ballast_bytes(folder) // BALLAST_FILES
        for number in range(BALLAST_FILES):
            if str(number) not in present:
                _fill_ballast(b"%d" % number, folder, size)
        durable.flush_folder(folder)
    finally:
        os.close(folder)


def _ballast_bytes(folder: int) -> int:
    volume = os.fstatvfs(folder)
    share = volume.f_blocks * volume.f_frsize // _BALLAST_SHARE
    return min(_MOST_BALLAST_BYTES, max(_LEAST_BALLAST_BYTES, share))


def _fill_ballast(name: bytes, folder: int, size: int) -> None:
    """Occupy space. Not flushed: ballast that a power cut takes is made anew."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        give_to_owner(descriptor, folder)
        os.posix_fallocate(descriptor, 0, size)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def spare_folders(quarantine_fd: int) -> List[bytes]:
    """Return the names of the folders that wait for an operation."""
    names = (os.fsencode(name) for name in os.listdir(quarantine_fd))
    return sorted(name for name in names if name.startswith(places.SPARE_PREFIX))


def _make_spare(quarantine_fd: int) -> None:
    name = _spare_name()
    make_folder(name, quarantine_fd)
    folder = os.open(name, _FOLDER, dir_fd=quarantine_fd)
    try:
        durable.fill_file(places.MANIFEST, folder, bytes(4096), MANIFEST_AHEAD_BYTES)
        durable.fill_file(places.NOTE, folder, b" " * 4096, NOTE_AHEAD_BYTES)
        durable.flush_folder(folder)
    finally:
        os.close(folder)


def take_folder(private_fd: int, quarantine_fd: int, name: bytes) -> int:
    """Give an operation its folder, a spare one if there is any, durably; returns its descriptor."""
    spares = spare_folders(quarantine_fd)
    if spares:
        with_room(private_fd, lambda: rename_privately(quarantine_fd, spares[0], quarantine_fd, name))
    else:
        with_room(private_fd, lambda: make_folder(name, quarantine_fd))
    durable.flush_folder(quarantine_fd)
    return os.open(name, _FOLDER, dir_fd=quarantine_fd)


def give_back_folder(private_fd: int, quarantine_fd: int, name: bytes) -> None:
    """Make an operation's folder a spare one again, or remove it when there are enough.

    A folder that holds anything but our two files stays where it is: somebody else put it there. So does one that a
    full disk has no name for; `purge` sweeps such folders when there is space.
    """
    folder = os.open(name, _FOLDER, dir_fd=quarantine_fd)
    try:
        ours = {os.fsdecode(places.MANIFEST), os.fsdecode(places.NOTE)}
        present = set(os.listdir(folder))
        if present - ours:
            return
        enough = len(spare_folders(quarantine_fd)) >= SPARE_FOLDERS
        for file in present if enough else ():
            os.unlink(file, dir_fd=folder)
    finally:
        os.close(folder)
    if enough:
        os.rmdir(name, dir_fd=quarantine_fd)
    else:
        try:
            with_room(private_fd, lambda: rename_privately(quarantine_fd, name, quarantine_fd, _spare_name()))
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
    durable.flush_folder(quarantine_fd)


def _spare_name() -> bytes:
    return places.SPARE_PREFIX + uuid.uuid4().hex[:12].encode()
