"""Other managed roots around a target or inside of it: their holds, leases and quarantines are not ours to judge.

A bind mount gives one folder several names, and a root around it may show under another of them only.
"""

from __future__ import annotations

import errno
import os
from typing import Iterator, List, Optional, Tuple

from artifactctl.hosts.probe import kernel, mounts, places
from artifactctl.hosts.probe.mounts import Mount
from artifactctl.hosts.probe.surveying import Visitor

_MOST_REPORTED = 20
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR)


class RootsInside(Visitor):
    """Collects the folders below the target in which a root or a quarantine keeps its own things."""

    def __init__(self) -> None:
        self.found: List[bytes] = []

    def folder(self, relative: bytes, descriptor: int, status: kernel.FileStatus) -> None:
        name = relative.rpartition(b"/")[2]
        if name.startswith(places.PRIVATE) and len(self.found) < _MOST_REPORTED and _is_ours(name):
            self.found.append(relative)


def _is_ours(name: bytes) -> bool:
    return name == places.PRIVATE or name.startswith(places.SIBLING_PREFIX)


def roots_around(location: bytes, parent: int, own_root: int) -> List[bytes]:
    """Return the folders above the target that are marked as a root, except the open `own_root` itself.

    `location` is the target's absolute path, `parent` the open folder that holds it. A marker that may not be looked
    at counts as one.
    """
    table = mounts.read()
    mine = _key(os.fstat(own_root))
    held_by = _key(os.fstat(parent))
    found = {}
    for folder in _names_of(os.path.dirname(location), mounts.of_descriptor(table, parent), table):
        try:
            if _key(os.stat(folder)) != held_by:
                continue  # something else is mounted over this name
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                continue
            raise
        for above in _upward(folder):
            key = _key(os.stat(above))
            if key != mine and key not in found and _is_marked(above):
                found[key] = above
    return sorted(found.values())


def _key(status: os.stat_result) -> Tuple[int, int]:
    return status.st_dev, status.st_ino


def _names_of(folder: bytes, mount: Optional[Mount], table: List[Mount]) -> Iterator[bytes]:
    """Yield every path under which our mount table shows the folder."""
    yield folder
    if mount is None:
        return
    inner = mounts.join(mount.root, mounts.relative_to(folder, mount.point))
    for other in table:
        if other.device == mount.device and mounts.lies_at_or_below(inner, other.root):
            yield mounts.join(other.point, mounts.relative_to(inner, other.root))


def _upward(folder: bytes) -> Iterator[bytes]:
    while folder not in (b"", b"/"):
        yield folder
        folder = os.path.dirname(folder)


def _is_marked(folder: bytes) -> bool:
    try:
        os.lstat(os.path.join(folder, places.PRIVATE, places.MARKER))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return True
        if error.errno in _NOTHING_THERE:
            return False
        raise
    return True
