"""System calls that Python 3.8 does not offer, by C library symbol where there is one, else by number.

Numbers are those of x86-64 and aarch64. Every function raises OSError with the kernel's errno; ENOSYS means that the
kernel (or this machine's architecture) does not have the call.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
import threading
from typing import Any, Dict, NamedTuple, Optional

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_EMPTY_PATH = 0x1000
AT_STATX_DONT_SYNC = 0x4000

STATX_BASIC_STATS = 0x07FF
STATX_BTIME = 0x0800
STATX_MNT_ID = 0x1000
STATX_MNT_ID_UNIQUE = 0x4000

ATTRIBUTE_COMPRESSED = 0x0004
ATTRIBUTE_IMMUTABLE = 0x0010
ATTRIBUTE_APPEND = 0x0020
ATTRIBUTE_MOUNT_ROOT = 0x2000

RENAME_NOREPLACE = 1
_RESOLVE_NO_XDEV, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x01, 0x04, 0x08

_NUMBERS: Dict[str, Dict[str, int]] = {
    "x86_64": {
        "renameat2": 316,
        "statx": 332,
        "syncfs": 306,
        "openat2": 437,
        "quotactl": 179,
        "quotactl_fd": 443,
        "kcmp": 312,
    },
    "aarch64": {
        "renameat2": 276,
        "statx": 291,
        "syncfs": 267,
        "openat2": 437,
        "quotactl": 60,
        "quotactl_fd": 443,
        "kcmp": 272,
    },
}
_STATX = struct.Struct("=IIQIIIHxxQQQQqIxxxxqIxxxxqIxxxxqIxxxxIIIIQ")

_FIRST_WORD = struct.Struct("=I")

_libc = ctypes.CDLL(None, use_errno=True)


class FileStatus(NamedTuple):
    """One statx answer. Times are nanoseconds since 1970; what the kernel did not report is None (masks: 0)."""

    mode: int
    inode: int
    device: int
    links: int
    uid: int
    gid: int
    size: int
    allocated_bytes: int
    accessed_ns: int
    modified_ns: int
    changed_ns: int
    birth_ns: Optional[int]
    mount_id: Optional[int]
    attributes: int
    attributes_mask: int

    @property
    def is_directory(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_regular(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)


def numbered_call(name: str, *arguments: Any) -> int:
    """Make system call `name` by its number; ints must come wrapped in a ctypes type of their C width."""
    number = _NUMBERS.get(platform.machine(), {}).get(name)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    ctypes.set_errno(0)
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _call(name: str, *arguments: Any) -> int:
    function = getattr(_libc, name, None)
    if function is None:
        return numbered_call(name, *arguments)
    ctypes.set_errno(0)
    result: int = function(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_statx = getattr(_libc, "statx", None)
if _statx is not None:
    _statx.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
_UNIQUE_REQUEST = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID_UNIQUE
_PLAIN_REQUEST = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID


class _Buffer(threading.local):
    """One statx answer per thread, filled again by every call."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(256)
        self.address = ctypes.addressof(self.memory)


_buffer = _Buffer()


def _fill_statx(path: bytes, dir_fd: int, flags: int, request: int) -> None:
    if _statx is None:
        words = (ctypes.c_int(dir_fd), ctypes.c_char_p(path), ctypes.c_int(flags), ctypes.c_uint(request))
        numbered_call("statx", *words, _buffer.memory)
    elif _statx(dir_fd, path, flags, request, _buffer.address) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fsdecode(path))


def statx(path: bytes, dir_fd: int = AT_FDCWD, *, follow: bool = False) -> FileStatus:
    """Return the status of `path` relative to `dir_fd`; b"" is the descriptor itself.

    Without statx in the kernel, lstat answers: then birth time, mount and attributes are unknown.
    """
    flags = (0 if follow else AT_SYMLINK_NOFOLLOW) | (0 if path else AT_EMPTY_PATH)
    try:
        _fill_statx(path, dir_fd, flags, _UNIQUE_REQUEST)
        if not _FIRST_WORD.unpack_from(_buffer.memory)[0] & (STATX_MNT_ID_UNIQUE | STATX_MNT_ID):
            _fill_statx(path, dir_fd, flags, _PLAIN_REQUEST)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return _from_stat(_plain_stat(path, dir_fd, follow=follow))
    return _from_statx(_buffer.memory)


def _from_statx(raw: "ctypes.Array[ctypes.c_char]") -> FileStatus:
    (
        mask, _, attributes, links, uid, gid, mode, inode, size, blocks, attributes_mask,
        atime, atime_ns, btime, btime_ns, ctime, ctime_ns, mtime, mtime_ns, _, _, major, minor, mount_id,
    ) = _STATX.unpack_from(raw)  # fmt: skip
    return FileStatus(
        mode,
        inode,
        os.makedev(major, minor),
        links,
        uid,
        gid,
        size,
        blocks * 512,
        atime * 1_000_000_000 + atime_ns,
        mtime * 1_000_000_000 + mtime_ns,
        ctime * 1_000_000_000 + ctime_ns,
        btime * 1_000_000_000 + btime_ns if mask & STATX_BTIME else None,
        mount_id if mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE) else None,
        attributes,
        attributes_mask,
    )


def _plain_stat(path: bytes, dir_fd: int, *, follow: bool) -> os.stat_result:
    if not path:
        return os.fstat(dir_fd)
    return os.stat(path, dir_fd=None if dir_fd == AT_FDCWD else dir_fd, follow_symlinks=follow)


def _from_stat(seen: os.stat_result) -> FileStatus:
    return FileStatus(
        seen.st_mode,
        seen.st_ino,
        seen.st_dev,
        seen.st_nlink,
        seen.st_uid,
        seen.st_gid,
        seen.st_size,
        seen.st_blocks * 512,
        seen.st_atime_ns,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
        None,
        None,
        0,
        0,
    )


def table_mount_id(descriptor: int) -> Optional[int]:
    """Return the id that mountinfo gives the mount of an open descriptor, None when /proc does not tell."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as lines:
            for line in lines:
                if line.startswith(b"mnt_id:"):
                    return int(line.split()[1])
    except FileNotFoundError:  # no /proc, or a kernel before 3.15
        return None
    return None


def mount_id_of(descriptor: int) -> Optional[int]:
    """Return an id of the mount of an open descriptor, None when neither statx nor fdinfo tells.

    The two sources number mounts differently; one kernel always answers by the same one.
    """
    known = statx(b"", descriptor).mount_id
    return known if known is not None else table_mount_id(descriptor)


def rename_noreplace(old_dir_fd: int, old_name: bytes, new_dir_fd: int, new_name: bytes) -> None:
    """Rename without ever replacing: EEXIST when the new name is taken.

    ENOSYS or EINVAL: this kernel or filesystem cannot promise it, and nothing was renamed.
    """
    try:
        _call(
            "renameat2",
            ctypes.c_int(old_dir_fd),
            ctypes.c_char_p(old_name),
            ctypes.c_int(new_dir_fd),
            ctypes.c_char_p(new_name),
            ctypes.c_uint(RENAME_NOREPLACE),
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fsdecode(old_name), None, os.fsdecode(new_name)) from None


def filesystem_number(descriptor: int) -> int:
    """Return the number of the filesystem's type, as statfs(2) lists them; OSError when it does not answer."""
    answer = ctypes.create_string_buffer(256)
    if _libc.fstatfs(ctypes.c_int(descriptor), answer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(struct.unpack_from("=Q", answer.raw)[0]) & 0xFFFFFFFF


def syncfs(descriptor: int) -> None:
    """Write the filesystem that holds `descriptor` to its device."""
    _call("syncfs", ctypes.c_int(descriptor))


def _openat2(dir_fd: int, relative: bytes, flags: int) -> int:
    how = struct.pack("=QQQ", flags, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_XDEV)
    return numbered_call(
        "openat2", ctypes.c_int(dir_fd), ctypes.c_char_p(relative), ctypes.c_char_p(how), ctypes.c_size_t(len(how))
    )


def open_beneath(dir_fd: int, relative: bytes, flags: int = os.O_RDONLY | os.O_DIRECTORY) -> int:
    """Open `relative` below `dir_fd`, following no link and crossing no mount; b"" is `dir_fd` itself, opened anew.

    ELOOP or ENOTDIR: a component is a link; EXDEV: a component is a mount. The caller closes the descriptor.
    """
    wanted = flags | os.O_NOFOLLOW | os.O_CLOEXEC
    if not relative:
        return os.open(b".", wanted, dir_fd=dir_fd)
    if relative.startswith(b"/") or b".." in relative.split(b"/"):
        raise OSError(errno.EXDEV, "the path leads out of the folder", os.fsdecode(relative))
    try:
        return _openat2(dir_fd, relative, wanted)
    except OSError as error:
        # EPERM: a seccomp filter older than the call; EAGAIN: the tree changed meanwhile, walk it ourselves
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EAGAIN, errno.ENAMETOOLONG):
            raise OSError(error.errno, error.strerror, os.fsdecode(relative)) from None
    return _open_stepwise(dir_fd, relative, wanted)


def _open_stepwise(dir_fd: int, relative: bytes, flags: int) -> int:
    mount_id = mount_id_of(dir_fd)
    parts = [part for part in relative.split(b"/") if part not in (b"", b".")]
    current = os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        step = flags if last else os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            following = os.open(part, step, dir_fd=current)
        finally:
            os.close(current)
        current = following
        if mount_id_of(current) != mount_id:
            os.close(current)
            raise OSError(errno.EXDEV, "a component is a mount", os.fsdecode(relative))
    return current
