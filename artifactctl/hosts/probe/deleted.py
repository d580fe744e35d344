"""Deleted files that some process still has open: bytes that df counts and no folder shows."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, List, Tuple

from artifactctl.hosts.probe import processes
from artifactctl.hosts.probe.uses import command_of

Wire = Dict[str, Any]
_ENDED = (FileNotFoundError, ProcessLookupError)


def deleted_but_open(path: bytes) -> List[Wire]:
    """Return the deleted files on the filesystem of `path` that a process keeps open or mapped, each inode once.

    Decided by a link count of 0, never by the text ` (deleted)`, which may be part of a name. Processes that may not
    be looked at are left out: this explains a difference, it permits nothing.
    """
    device = os.stat(path).st_dev
    found: Dict[Tuple[int, int], Wire] = {}
    for process in processes.process_numbers():
        try:
            _note(process, device, found)
        except _ENDED:
            continue
        except PermissionError:
            continue
    return [found[key] for key in sorted(found)]


def _note(process: int, device: int, found: Dict[Tuple[int, int], Wire]) -> None:
    for folder in (f"/proc/{process}/fd", f"/proc/{process}/map_files"):
        for name in os.listdir(folder):
            try:
                seen = os.stat(f"{folder}/{name}")
            except FileNotFoundError:  # closed meanwhile
                continue
            if seen.st_nlink or seen.st_dev != device or not stat.S_ISREG(seen.st_mode):
                continue
            found.setdefault(
                (seen.st_dev, seen.st_ino),
                {
                    "pid": process,
                    "command": command_of(process),
                    "path": os.readlink(f"{folder}/{name}"),
                    "size_bytes": seen.st_blocks * 512,
                },
            )
