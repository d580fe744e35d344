"""The folder and files a SQLite catalog lives in: on which filesystem, with which mode and attributes.

These are the catalog's own files, not managed storage.
"""

import ctypes
import fcntl
import os
import pwd
import re
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from artifactctl.catalog.failures import CatalogUnusable, UnsafeFilesystem

# Network and cluster filesystems: no shared memory between machines, locks that lie. FUSE may hide any of them.
_UNSAFE = re.compile(r"nfs\d*|cifs|smb\d?|smbfs|9p|lustre|fuse(\..*)?|fuseblk|ceph|gpfs|beegfs|wekafs|afs|gfs2|ocfs2")
_REMEDY = "keep the catalog on a local disk with --catalog PATH or ARTIFACTCTL_CATALOG, or in PostgreSQL by its URL"

SHARING = (
    "use the account that owns it, or name another with --catalog; for a team the owner makes it in a folder that "
    "a group shares (chgrp GROUP, chmod 2770), or keeps it in PostgreSQL"
)

_LOCAL_BY_NUMBER = {0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x01021994: "tmpfs", 0x794C7630: "overlay"}
_FS_IOC_GETFLAGS = 0x80086601
_FS_IOC_SETFLAGS = 0x40086602
_FS_NOCOW_FL = 0x00800000
_COPY_ON_WRITE = "btrfs"
_SIDECARS = ("-wal", "-shm")
_PRIVATE, _OF_THE_GROUP = 0o600, 0o060


def filesystem_type(path: Path) -> str | None:
    """Return the type of the filesystem that holds `path` as the kernel names it, None if /proc does not say."""
    descriptor = os.open(path, os.O_PATH)
    try:
        facts = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except FileNotFoundError:
        return None
    finally:
        os.close(descriptor)
    found = re.search(r"^mnt_id:\s*(\d+)$", facts, re.MULTILINE)
    named = type_of_mount(int(found[1]), mounts) if found else None
    return named or type_by_number(path)


def type_by_number(path: Path) -> str | None:
    """Return a local filesystem's type by its number (statfs(2)), None for any other.

    In a chroot whose top is no mount point the mount table does not say what `/` lies on.
    """
    answer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(path), answer) != 0:
        return None
    return _LOCAL_BY_NUMBER.get(struct.unpack_from("=Q", answer.raw)[0] & 0xFFFFFFFF)


def type_of_mount(mount_id: int, mountinfo: Iterable[bytes]) -> str | None:
    """Return the filesystem type of one mount in the lines of /proc/self/mountinfo, None if it is not there."""
    for line in mountinfo:
        fields = line.split()
        if int(fields[0]) == mount_id:
            return fields[fields.index(b"-", 6) + 1].decode("utf-8", "backslashreplace")
    return None


def refuse_unsafe_filesystem(found: str | None, shown: str) -> None:
    """Raise UnsafeFilesystem unless SQLite keeps its promises on a filesystem of this type."""
    if found is None:
        raise UnsafeFilesystem(
            f"cannot tell on which filesystem {shown} lies: /proc/self/mountinfo does not say", remedy=_REMEDY
        )
    if _UNSAFE.fullmatch(found):
        raise UnsafeFilesystem(f"{shown} lies on {found}, where SQLite is not safe", remedy=_REMEDY)


def is_usable_file(database: Path) -> bool:
    """Whether the file is there. UnsafeFilesystem where it must not be, CatalogUnusable when that cannot be told."""
    try:
        if not stat.S_ISREG(database.stat().st_mode):
            raise CatalogUnusable(f"{database} is not a file", remedy="name the catalog's file with --catalog")
        found = filesystem_type(database)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CatalogUnusable(f"the catalog {database} cannot be reached: {error.strerror}", remedy=SHARING) from error
    refuse_unsafe_filesystem(found, str(database))
    return True


def prepare_files(database: Path) -> None:
    """Create the private folder and the empty, private files of a new catalog; those that exist stay as they are.

    In a folder that a group shares (set-group-id, and writable by the group) they are that group's to write as well,
    whatever the umask: SQLite gives a log that it makes anew the permissions of the database.

    On btrfs all are made without copy-on-write first: a full btrfs cannot overwrite otherwise, and a failed write to
    SQLite's mapped `-shm` kills the process with SIGBUS instead of reporting an error.
    """
    folder = database.parent
    try:
        is_new = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = filesystem_type(folder)
        refuse_unsafe_filesystem(found, str(database))
        if found == _COPY_ON_WRITE and is_new:
            disable_copy_on_write(folder)
        mode = _PRIVATE | (_OF_THE_GROUP if is_shared(folder) else 0)
        for file in _files(database):
            _create(file, mode=mode, copy_on_write=found == _COPY_ON_WRITE)
    except OSError as error:
        raise CatalogUnusable(
            f"the catalog {database} cannot be created: {error.strerror}",
            remedy="name a writable place with --catalog PATH or ARTIFACTCTL_CATALOG",
        ) from error


def is_shared(folder: Path) -> bool:
    """Whether a group shares the folder: what is made in it belongs to the group, which may write there."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def why_not_permitted(database: Path) -> str:
    """Return which of the catalog's files this account may not read and write, and whose it is; "" when it may all."""
    for file in _files(database):
        try:
            owner = file.stat().st_uid
        except FileNotFoundError:
            continue
        except PermissionError:
            return f"this account may not enter {file.parent}"
        if not os.access(file, os.R_OK | os.W_OK):
            return f"{file} belongs to {_name_of(owner)}, and this account may not read and write it"
    return ""


def _files(database: Path) -> tuple[Path, ...]:
    return (database, *(database.with_name(database.name + suffix) for suffix in _SIDECARS))


def _name_of(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"the user {user_id}"


def disable_copy_on_write(path: Path) -> None:
    """Do what `chattr +C` does; it works on folders (for what is made in them later) and on empty files."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        buffer = bytearray(8)
        fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, buffer)
        flags = struct.unpack_from("=I", buffer)[0] | _FS_NOCOW_FL
        fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("=II", flags, 0))
    finally:
        os.close(descriptor)


def _create(file: Path, *, mode: int, copy_on_write: bool) -> None:
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE)
    except FileExistsError:
        return
    try:
        if mode != _PRIVATE:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)
    if copy_on_write:
        disable_copy_on_write(file)
