"""Space kept back beside a SQLite catalog, given up piece by piece when the disk is full.

Opening the database truncates its `-shm` file and grows it again, and on a full btrfs what was truncated does not come
back at once. Pieces are separate files emptied whole: a part of an extent is not freed there. Emptying needs no space.
"""

import errno
import os
from pathlib import Path

from artifactctl.catalog.filesystem import is_shared

PIECES = 16
PIECE_BYTES = 128 * 1024

_NOT_NOW = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)


def fill(database: Path) -> int:
    """Allocate what is missing of the ballast, as far as space and permissions go; return how many pieces there are."""
    folder = _folder(database)
    in_place = 0
    try:
        shared = is_shared(database.parent)
        _make(folder, shared=shared)
        for number in range(PIECES):
            _allocate(folder / f"{number:02}", shared=shared)
            in_place += 1
    except OSError as error:
        if error.errno not in _NOT_NOW:
            raise
    return in_place


def release(database: Path) -> bool:
    """Give up one piece; return whether there was one that this account may write. The space is free then."""
    for number in range(PIECES):
        try:
            descriptor = os.open(_folder(database) / f"{number:02}", os.O_WRONLY | os.O_NOFOLLOW)
        except (FileNotFoundError, PermissionError):
            continue
        try:
            if os.fstat(descriptor).st_size:
                os.ftruncate(descriptor, 0)
                os.fsync(descriptor)
                return True
        finally:
            os.close(descriptor)
    return False


def _make(folder: Path, *, shared: bool) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    if shared:
        folder.chmod(0o2770)


def _allocate(piece: Path, *, shared: bool) -> None:
    descriptor = os.open(piece, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        if shared and os.fstat(descriptor).st_uid == os.getuid():
            os.fchmod(descriptor, 0o660)
        if os.fstat(descriptor).st_size < PIECE_BYTES:
            os.posix_fallocate(descriptor, 0, PIECE_BYTES)
    finally:
        os.close(descriptor)


def _folder(database: Path) -> Path:
    return database.with_name(database.name + "-ballast")
