"""How a stage's output gets its name: written in a folder aside, made durable, renamed in one step.

1. Make `.NAME.partial` beside the place and lock it: two runs for one place never mix, a lock dies with its process.
2. Write every member there, the manifest last, each synced.
3. Rename the folder to its name and sync the folder around it. Before this nothing is at the name, after it everything.

What a killed run left in the folder aside is taken away by the next one. Scratch files have no name at all
(`scratch_file`), so that nothing of them is left however a run ends.
"""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from artifactctl.domain.errors import Busy, Refused, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def folder_aside(place: Path, members: tuple[str, ...]) -> Iterator[Path]:
    """Yield the locked, empty folder in which the output for `place` is written.

    `members` are all names that a run ever writes there: what is left of them is removed at the beginning, and at the
    end unless `publish` has renamed the folder. Busy when another run has it, Refused when the volume is full.
    """
    aside = place.with_name(f".{place.name}.partial")
    try:
        os.makedirs(aside, exist_ok=True)
        lock = os.open(aside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (NotADirectoryError, FileExistsError) as error:
        raise UsageError(f"{aside} is in the way", remedy="move it away") from error
    except OSError as error:
        raise (_no_room(place) if error.errno in _FULL else error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"another run is writing {place}", remedy="wait for it, or give another --out") from error
        _take_away(aside, members)
        try:
            yield aside
        except OSError as error:
            raise (_no_room(place) if error.errno in _FULL else error) from error
        finally:
            if _is_still_at(lock, aside):
                _take_away(aside, members)
                os.rmdir(aside)
    finally:
        os.close(lock)


def _no_room(place: Path) -> Refused:
    return Refused(
        f"{place.parent} has no room left for {place.name}; nothing of it stays",
        remedy=f"`artifactctl rescue {place.parent}` says what could go; then the same command again",
    )


def listed_names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(os.listdir(folder))


def allocated_below(folder: Path) -> int:
    """Return what the files in a folder, and in its folders, take on disk."""
    total_bytes = 0
    for name in listed_names(folder):
        entry = (folder / name).lstat()
        total_bytes += allocated_below(folder / name) if stat.S_ISDIR(entry.st_mode) else entry.st_blocks * 512
    return total_bytes


def is_free(place: Path) -> bool:
    """Whether nothing, or an empty folder, is at the place."""
    try:
        return not listed_names(place)
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def publish(aside: Path, place: Path) -> None:
    """Give the folder its name; UsageError when something is there."""
    sync_folder(aside)
    try:
        os.replace(aside, place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise UsageError(f"{place} is there already", remedy="give another --out") from error
        raise
    sync_folder(place.parent)


def replace_durably(source: Path, target: Path) -> None:
    """Give a synced file of the stage's own its name, in place of an earlier one, durably."""
    os.replace(source, target)
    sync_folder(target.parent)


def sync_file(file: IO[bytes]) -> None:
    """Make what was written to the file durable."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in the folder durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def take_away_asides(folder: Path, name: str, *, keep: str = "") -> None:
    """Remove what writers of `name` left aside in the folder, whatever their mark, but for the file called `keep`.

    A writer that is still at it cannot publish any more: that is how one whose place was taken over is kept out.
    """
    for found in listed_names(folder):
        if found.startswith(f"{name}.") and found.endswith(".partial") and found != keep:
            (folder / found).unlink(missing_ok=True)


def take_away(file: Path) -> None:
    """Remove a file of the stage's own, durably; nothing happens where it is not there."""
    try:
        file.unlink()
    except FileNotFoundError:
        return
    sync_folder(file.parent)


def scratch_file(folder: Path) -> IO[bytes]:
    """Return a file without a name on the filesystem of `folder`; its bytes are free when it is closed."""
    return tempfile.TemporaryFile(dir=folder)


def _is_still_at(lock: int, aside: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(aside, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _take_away(aside: Path, members: tuple[str, ...]) -> None:
    for name in members:
        (aside / name).unlink(missing_ok=True)
