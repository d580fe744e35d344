"""Who writes to a volume and how fast, measured over a few seconds."""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import mounts, processes
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.uses import command_of

Wire = Dict[str, Any]
_ENDED = (FileNotFoundError, ProcessLookupError)
_BLOCK_BYTES = 4096


class _OpenFile(NamedTuple):
    """A file open for writing: its name as its process sees it, and its bytes at that instant."""

    path: str
    size_bytes: int
    stored_bytes: int


class _Snapshot(NamedTuple):
    """All processes at one instant: bytes each has sent to devices, and its files open for writing on the volume."""

    written: Dict[int, int]
    files: Dict[Tuple[int, int, int], _OpenFile]
    denied: int
    available_bytes: int
    at: float


def stored_bytes(size: int, allocated: int) -> int:
    """Return the bytes on disk without those that xfs allocates ahead of the end of a growing file."""
    return min(allocated, -(-size // _BLOCK_BYTES) * _BLOCK_BYTES)


def sample_growth(path: bytes, seconds: float) -> Wire:
    """Return who wrote to the volume that holds `path` within `seconds`; OSError when it cannot be looked at.

    A process counts when it has a file open for writing there, or sent bytes to any device meanwhile: a writer of many
    short files is seen by the second alone. `writes_here` says that an open file proves it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mount = mounts.of_descriptor(mounts.read(), descriptor)
        device = mount.device if mount else ""
        before = _snapshot(descriptor, device)
        time.sleep(seconds)
        after = _snapshot(descriptor, device)
    finally:
        os.close(descriptor)
    elapsed = after.at - before.at
    return {
        "seconds": elapsed,
        "available_before_bytes": before.available_bytes,
        "available_after_bytes": after.available_bytes,
        "processes_denied": after.denied,
        "writers": _writers(before, after),
    }


def _snapshot(descriptor: int, device: str) -> _Snapshot:
    space = os.fstatvfs(descriptor)
    on_volume = Namespaces().mounts_of(device)
    written: Dict[int, int] = {}
    files: Dict[Tuple[int, int, int], _OpenFile] = {}
    denied = 0
    for process in processes.process_numbers():
        if process == os.getpid():
            continue
        try:
            written[process] = _written_by(process)
            for seen, name in _open_for_writing(process, on_volume):
                key = (process, seen.st_dev, seen.st_ino)
                files[key] = _OpenFile(name, seen.st_size, stored_bytes(seen.st_size, seen.st_blocks * 512))
        except _ENDED:
            continue
        except PermissionError:
            denied += 1
    return _Snapshot(written, files, denied, space.f_bavail * space.f_frsize, time.monotonic())


def _written_by(process: int) -> int:
    with open(f"/proc/{process}/io", "rb") as lines:
        for line in lines:
            if line.startswith(b"write_bytes:"):
                return int(line.split()[1])
    return 0


def _open_for_writing(process: int, on_volume: "frozenset[int]") -> Iterator[Tuple[os.stat_result, str]]:
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        try:
            mount_id, flags = _flags_of(f"/proc/{process}/fdinfo/{name}")
            if mount_id not in on_volume or flags & os.O_ACCMODE == os.O_RDONLY:
                continue
            seen = os.stat(f"{folder}/{name}")
            if stat.S_ISREG(seen.st_mode):
                yield seen, os.readlink(f"{folder}/{name}")
        except FileNotFoundError:  # closed meanwhile
            continue


def _flags_of(path: str) -> Tuple[Optional[int], int]:
    mount_id, flags = None, 0
    with open(path, "rb") as lines:
        for line in lines:
            if line.startswith(b"flags:"):
                flags = int(line.split()[1], 8)
            elif line.startswith(b"mnt_id:"):
                mount_id = int(line.split()[1])
                break
    return mount_id, flags


def _writers(before: _Snapshot, after: _Snapshot) -> List[Wire]:
    by_process: Dict[int, List[Wire]] = {}
    for key, now in after.files.items():
        then = before.files.get(key)
        by_process.setdefault(key[0], []).append(
            {
                "path": now.path,
                "size_bytes": now.size_bytes,
                "grown_bytes": now.stored_bytes - (then.stored_bytes if then else 0),
                "was_open_before": then is not None,
            }
        )
    found = []
    for process, written in sorted(after.written.items()):
        sent = written - before.written.get(process, 0)
        files = sorted(by_process.get(process, []), key=lambda item: -int(item["grown_bytes"]))
        if sent > 0 or files:
            found.append(
                {
                    "pid": process,
                    "command": command_of(process),
                    "written_bytes": max(0, sent),
                    "writes_here": bool(files),
                    "files": files[:100],
                }
            )
    return sorted(found, key=lambda item: (-int(item["written_bytes"]), item["pid"]))
