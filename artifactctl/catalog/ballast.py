"""Space kept back beside a SQLite catalog, given up piece by piece when the disk is full.

Opening the database truncates its `-shm` file and grows it again, and on a full btrfs what was truncated does not come
back at once. Pieces are separate files emptied whole: a part of an extent is not freed there. Emptying needs no space.
"""

import errno
import os
from pathlib import Path

PIECES = 16
PIECE_BYTES = 128 * 1024

_NOT_NOW = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)


def fill(database: Path) -> int:
    """Allocate what is missing of the ballast, as far as space and permissions go; return how many pieces there are."""
    folder = _folder(database)
    in_place = 0
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for number in range(PIECES):
            _allocate(folder / f"{number:02}")
            in_place += 1
    except OSError as error:
        if error.errno not in _NOT_NOW:
            raise
    return in_place


def release(database: Path) -> bool:
    """Give up one piece; return whether there was one. The space is free when this returns."""
    for number in range(PIECES):
        try:
            descriptor = os.open(_folder(database) / f"{number:02}", os.O_WRONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            if os.fstat(descriptor).st_size:
                os.ftruncate(descriptor, 0)
                os.fsync(descriptor)
                return True
        finally:
            os.close(descriptor)
    return False


def _allocate(piece: Path) -> None:
    descriptor = os.open(piece, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(descriptor).st_size < PIECE_BYTES:
            os.posix_fallocate(descriptor, 0, PIECE_BYTES)
    finally:
        os.close(descriptor)


def _folder(database: Path) -> Path:
    return database.with_name(database.name + "-ballast")
