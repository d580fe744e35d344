"""Files that the kernel itself uses: backing files of loop devices, and swap."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import Optional, Tuple

from artifactctl.hosts.probe.mounts import unescape
from artifactctl.hosts.probe.uses import Use, UseTable

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_STATUS_BYTES = 232


def note_loop_devices(table: UseTable) -> None:
    """Add the backing file of every loop device that is set up."""
    for name in sorted(os.listdir("/sys/block")) if os.path.isdir("/sys/block") else ():
        if not name.startswith("loop"):
            continue
        try:
            with open(f"/sys/block/{name}/loop/backing_file", "rb") as text:
                backing = text.read().rstrip(b"\n")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV):  # not set up, or taken down meanwhile
                continue
            table.unreadable.append(f"/sys/block/{name}/loop/backing_file: {error.strerror}")
            continue
        found = _from_device(name) or _from_path(backing)
        if found is not None:
            table.add(found[0], found[1], Use("loop_device", None, f"/dev/{name}", writes=True))


def _from_device(name: str) -> Optional[Tuple[int, int]]:
    try:
        descriptor = os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # not ours to open: the path in /sys is the second best answer
        return None
    try:
        answer = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_LOOP_STATUS_BYTES))
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.EPERM, errno.EOVERFLOW):
            raise
        return None
    finally:
        os.close(descriptor)
    device, inode = struct.unpack_from("=QQ", answer)
    return device, inode


def _from_path(backing: bytes) -> Optional[Tuple[int, int]]:
    try:
        seen = os.stat(backing)
    except OSError:  # deleted, or a path of another mount namespace: the write lease still answers for it
        return None
    return seen.st_dev, seen.st_ino


def note_swap(table: UseTable) -> None:
    """Add every swap file."""
    try:
        with open("/proc/swaps", "rb") as text:
            lines = text.read().splitlines()[1:]
    except FileNotFoundError:  # a kernel without swap
        return
    except OSError as error:
        table.unreadable.append(f"/proc/swaps: {error.strerror}")
        return
    for line in lines:
        found = _from_path(unescape(line.split()[0]))
        if found is not None:
            table.add(found[0], found[1], Use("swap", None, "/proc/swaps", writes=True))
