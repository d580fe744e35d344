"""Symbolic links under managed roots that lead to a target from outside of it.

What is mounted below a root is searched as well: a link there can lead anywhere. A filesystem that may never answer (a
network or FUSE one) is not, and is a problem; one that shows the kernel's own state holds nothing that anybody keeps.

A bind mount shows a folder at a second path, which neither the text of a link nor its resolution gives away. So places
are compared by their path within the filesystem as well, as the mount table tells it: also where nothing is any more.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from artifactctl.hosts.probe import folders, mounts, places
from artifactctl.hosts.probe.folders import FolderStack, MountCrossed
from artifactctl.hosts.probe.mounts import Spot, join, lies_at_or_below
from artifactctl.hosts.probe.walking import describe

Wire = Dict[str, Any]


class _Names(NamedTuple):
    """One folder's links and folders, known from d_type without a stat."""

    links: List[bytes]
    folders: List[bytes]


class _Target(NamedTuple):
    """A target as given, all absolute paths that mean it, and where that is in its filesystem."""

    given: bytes
    names: Tuple[bytes, ...]
    spots: Tuple[Spot, ...]

    def holds(self, path: bytes, spot: Spot) -> bool:
        """Whether the path, or what it is another path for, is the target or lies below it."""
        return any(lies_at_or_below(path, name) for name in self.names) or any(
            spot.device == own.device and lies_at_or_below(spot.path, own.path) for own in self.spots
        )


class ReferrerLook:
    """A walk over the roots; `found` and `problems` grow as it goes."""

    def __init__(self, roots: Iterable[bytes], targets: Iterable[bytes]) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._table = mounts.read()
        self._targets = [self._target(given) for given in targets]
        self._remote = [mount.point for mount in self._table if mount.is_remote]
        self._mounted: List[bytes] = []
        self.found: List[Wire] = []
        self.problems: List[str] = []

    def run(self) -> None:
        """Walk every root once, and what is mounted below; a root inside another root is walked with that one."""
        for root in self._roots:
            inside = any(other != root and lies_at_or_below(root, other) for other in self._roots)
            if not inside or _is_other_mount(root):
                self._walk(root)
        for place in self._mounted:  # it grows as mounts are found in mounts
            self._walk(place)

    def _walk(self, top: bytes) -> None:
        try:
            descriptor = folders.open_folder(top)
        except OSError as error:
            self.problems.append(describe(error, top))
            return
        with FolderStack(descriptor) as stack:
            self._descend(stack, top)

    def _descend(self, stack: FolderStack, root: bytes) -> None:
        pending: List[Iterator[bytes]] = [self._read(stack, root)]
        while pending:
            name = next(pending[-1], None)
            if name is None:
                pending.pop()
                stack.leave()
                continue
            try:
                stack.enter(name)
            except FileNotFoundError:
                continue
            except MountCrossed:
                self._meet_mount(join(join(root, stack.relative), name))
                continue
            except OSError as error:
                self.problems.append(describe(error, join(join(root, stack.relative), name)))
                continue
            pending.append(self._read(stack, root))

    def _meet_mount(self, place: bytes) -> None:
        """Note what is mounted below a root and is no root itself: to be walked, or why it is not."""
        if place in self._roots or place in self._mounted:
            return
        mount = next((each for each in reversed(mounts.read()) if each.point == place), None)
        if mount is not None and mount.type in mounts.LOCAL_TYPES:
            self._mounted.append(place)
        elif mount is None or not mount.is_pseudo or mount.type == "autofs":
            type_name = mount.type if mount is not None else "another"
            self.problems.append(
                f"{os.fsdecode(place)}: a filesystem that may not answer ({type_name}) is mounted here and was not "
                "searched; unmount it meanwhile"
            )

    def _read(self, stack: FolderStack, root: bytes) -> Iterator[bytes]:
        folder = join(root, stack.relative)
        names = self._names(stack, folder)
        for name in names.links:
            try:
                text = os.readlink(name, dir_fd=stack.descriptor)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.problems.append(describe(error, join(folder, name)))
                continue
            self._judge(join(folder, name), text)
        return iter(names.folders)

    def _names(self, stack: FolderStack, folder: bytes) -> _Names:
        names = _Names([], [])
        try:
            with os.scandir(stack.descriptor) as entries:
                for entry in entries:
                    name = os.fsencode(entry.name)
                    if entry.is_symlink():
                        names.links.append(name)
                    elif entry.is_dir(follow_symlinks=False) and not _is_ours(name, depth=stack.depth):
                        names.folders.append(name)
        except OSError as error:
            self.problems.append(describe(error, folder))
        names.links.sort()
        names.folders.sort()
        return names

    def _judge(self, link: bytes, text: bytes) -> None:
        lexical = os.path.normpath(os.path.join(os.path.dirname(link), text))
        places = {lexical}
        if not any(lies_at_or_below(lexical, point) for point in self._remote) or self._is_under_roots(lexical):
            places.add(os.path.realpath(os.path.join(os.path.dirname(link), text)))
        own = mounts.spot_of(self._table, link)
        leads_to = [(place, mounts.spot_of(self._table, place)) for place in places]
        for target in self._targets:
            if target.holds(link, own):
                continue
            if any(target.holds(place, spot) for place, spot in leads_to):
                dangling = not os.path.exists(link)  # also where it cannot be followed
                self.found.append(
                    {"link": os.fsdecode(link), "target": os.fsdecode(target.given), "is_dangling": dangling}
                )

    def _target(self, given: bytes) -> _Target:
        names = _names_of(given)
        return _Target(given, names, tuple(mounts.spot_of(self._table, name) for name in names))

    def _is_under_roots(self, path: bytes) -> bool:
        return any(lies_at_or_below(path, root) for root in self._roots)


def _is_ours(name: bytes, *, depth: int) -> bool:
    """Whether what was set aside lies there: its links lead nowhere that anybody goes."""
    return (depth == 1 and name == places.PRIVATE) or places.is_sibling_folder(name)


def _names_of(target: bytes) -> Tuple[bytes, ...]:
    """A target that is a link itself is meant, not what it leads to."""
    clean = os.path.normpath(target)
    real = join(os.path.realpath(os.path.dirname(clean)), os.path.basename(clean))
    return tuple(dict.fromkeys((clean, real)))


def _is_other_mount(root: bytes) -> bool:
    table = mounts.read()
    inside, around = mounts.holding(table, root), mounts.holding(table, os.path.dirname(root))
    return inside != around


def referrers(roots: Sequence[bytes], targets: Sequence[bytes]) -> Tuple[List[Wire], List[str]]:
    """Return (links, problems); a folder that could not be read is a problem."""
    look = ReferrerLook(roots, targets)
    look.run()
    return look.found, look.problems
