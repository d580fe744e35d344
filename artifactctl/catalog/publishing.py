"""Files of the tool's own that are born complete: written under another name, flushed, then given their own.

Nothing here ever touches managed storage: the files are the catalog, its backups and its exports.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from artifactctl.catalog.failures import FileTaken

_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


@contextmanager
def partial_file(final: Path, *, mode: int = 0o600) -> Iterator[Path]:
    """Yield the name of a new, empty file beside `final`, private unless `mode` says otherwise (less the umask).

    Whatever is left under that name at the end is removed.
    """
    partial = final.with_name(f".{final.name}.{secrets.token_hex(4)}.partial")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, mode))
    try:
        yield partial
    finally:
        for suffix in _SIDE_FILES:
            _remove(partial.with_name(partial.name + suffix))


def publish_new(partial: Path, final: Path) -> None:
    """Give a complete file its name, durably; FileTaken when something has the name, which stays as it is."""
    _flush(partial)
    try:
        os.link(partial, final, follow_symlinks=False)
    except FileExistsError as error:
        raise taken(final) from error
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(final):
            raise taken(final) from error
        os.rename(partial, final)  # noqa: TID251 - the tool's own file, on a filesystem without hard links
    _flush(final.parent)


def publish_over(partial: Path, final: Path) -> None:
    """Give a complete file its name, durably, in place of what had it."""
    _flush(partial)
    os.replace(partial, final)
    _flush(final.parent)


def keep_mode(partial: Path, *, of: Path) -> None:
    """Give a file the permissions of the one whose place it takes, where there is one."""
    try:
        before = os.stat(of)
    except FileNotFoundError:
        return
    os.chmod(partial, stat.S_IMODE(before.st_mode))


def set_aside(file: Path, aside: Path) -> None:
    """Rename a database that cannot be read, with its log, so that nothing of it is lost; nobody may have it open."""
    for suffix in ("-wal", "-shm", ""):  # the database last: until then its name still leads to all of it
        source = file.with_name(file.name + suffix)
        if os.path.lexists(source):
            os.rename(source, aside.with_name(aside.name + suffix))  # noqa: TID251 - the catalog's own files
    _flush(file.parent)


def taken(final: Path) -> FileTaken:
    """Return the refusal to write over a file."""
    return FileTaken(f"{final} is there already and stays as it is", remedy="name another file")


def _remove(path: Path) -> None:
    try:
        os.unlink(path)  # noqa: TID251 - a file that this module made under a name of its own
    except FileNotFoundError:
        return


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
