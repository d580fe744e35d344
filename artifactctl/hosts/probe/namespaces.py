"""The mount tables of all processes, and who shows a part of a tree somewhere else."""

from __future__ import annotations

import errno
import os
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import mounts
from artifactctl.hosts.probe.mounts import Mount, join, lies_at_or_below, relative_to

_DELETED = b"//deleted"


class Namespace(NamedTuple):
    """One mount namespace: `process` is one that lives in it."""

    process: int
    table: List[Mount]


class MountUse(NamedTuple):
    """A mount that shows the tree, or a part of it (`relative`), or lies inside of it."""

    relative: bytes
    process: int
    detail: str


class Namespaces:
    """Every distinct mount table on the machine; `unreadable` counts processes whose table could not be read."""

    def __init__(self) -> None:
        self.unreadable = 0
        self._by_key: Dict[object, Namespace] = {}
        self._of_process: Dict[int, Namespace] = {}
        for name in sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int):
            self._note(int(name))

    def _note(self, process: int) -> None:
        try:
            key: object = os.stat(f"/proc/{process}/ns/mnt").st_ino
        except PermissionError:
            key = None
        except (FileNotFoundError, ProcessLookupError):
            return
        if key is None or key not in self._by_key:
            try:
                with open(f"/proc/{process}/mountinfo", "rb") as table:
                    content = table.read()
            except OSError as error:
                # EINVAL: a zombie has no namespace any more
                if error.errno not in (errno.ENOENT, errno.ESRCH, errno.EINVAL):
                    self.unreadable += 1
                return
            key = content if key is None else key
            if key not in self._by_key:
                self._by_key[key] = Namespace(process, mounts.parse(content))
        self._of_process[process] = self._by_key[key]

    def remote_mounts(self, process: int, except_device: str) -> FrozenSet[int]:
        """Return the numbers of the network and FUSE mounts a process can have files open on."""
        space = self._of_process.get(process)
        if space is None:
            return frozenset()
        return frozenset(m.mount_id for m in space.table if m.is_remote and m.device != except_device)

    def mounts_of(self, device: str) -> FrozenSet[int]:
        """Return the numbers of all mounts of one filesystem (`device` of mountinfo) in whatever namespace."""
        tables = self._by_key.values()
        return frozenset(mount.mount_id for space in tables for mount in space.table if mount.device == device)

    def leads_to_remote(self, process: int, path: bytes) -> bool:
        """Whether `path`, as the process names it, lies on a network or FUSE mount."""
        space = self._of_process.get(process)
        mount = mounts.holding(space.table, path) if space else None
        return mount is not None and mount.is_remote

    def uses_of(self, device: str, inner: bytes, shown_at: bytes) -> Iterator[MountUse]:
        """Yield the mounts that show `inner` or something below it, or that lie on it.

        `inner` is the tree's path inside its filesystem (`device` of mountinfo), `shown_at` where we see it. A mount
        of a folder above the tree is no use of it: every container that binds a volume has one.
        """
        for space in self._by_key.values():
            by_number = {mount.mount_id: mount for mount in space.table}
            for mount in space.table:
                found = _use(mount, by_number.get(mount.parent_id), (device, inner), shown_at)
                if found is not None:
                    relative, what = found
                    place = os.fsdecode(mount.point)
                    yield MountUse(relative, space.process, f"{what} {place} in the mount table of {space.process}")


def _use(
    mount: Mount, parent: Optional[Mount], tree: Tuple[str, bytes], shown_at: bytes
) -> Optional[Tuple[bytes, str]]:
    device, inner = tree
    if mount.device == device and not mount.root.endswith(_DELETED) and lies_at_or_below(mount.root, inner):
        return relative_to(mount.root, inner), "shown at"
    if parent is not None and parent.device == device and lies_at_or_below(mount.point, parent.point):
        covered = join(parent.root, relative_to(mount.point, parent.point))
        if lies_at_or_below(covered, inner):
            return relative_to(covered, inner), "covered by the mount"
    for layer in mount.overlay_layers:
        if lies_at_or_below(layer, shown_at):
            return relative_to(layer, shown_at), "a layer of the overlay"
    return None
