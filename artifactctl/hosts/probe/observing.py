"""Everything about one target at one instant, from one walk and one pass over /proc."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from artifactctl.hosts.probe import accounts, filesystems, folders, kernel, marked, mounts, places, subvolumes
from artifactctl.hosts.probe.extents import SharedExtents
from artifactctl.hosts.probe.holders import HolderLook
from artifactctl.hosts.probe.obstacles import Obstacles
from artifactctl.hosts.probe.other_roots import RootsInside, roots_around
from artifactctl.hosts.probe.surveying import Survey, Target, Visitor
from artifactctl.hosts.probe.trees import Excuse, TreeSummary
from artifactctl.hosts.probe.walking import describe

Wire = Dict[str, Any]
_MARKER_FILE = places.PRIVATE + b"/" + places.MARKER
_LARGEST_MARKER_BYTES = 65536
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


class _Place(NamedTuple):
    """Where a target is: the open folder that holds it, its name there, and the mount of that folder."""

    parent: int
    name: bytes
    location: bytes
    mount: Optional[mounts.Mount]


class _MountedPlaces(Visitor):
    """Mounts met during a walk that the mount table did not show."""

    def __init__(self) -> None:
        self.found: List[bytes] = []

    def mounted(self, relative: bytes) -> None:
        self.found.append(relative)


def identity_of(path: bytes) -> Optional[Wire]:
    """Return the identity of what stands at `path`, which may be a link; None when there is none."""
    folder, name = folders.split_path(os.path.abspath(path))
    try:
        parent = folders.open_folder(folder) if folder == b"/" else _open_following(folder)
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise
    try:
        status = kernel.statx(name, parent)
        return _identity(status, _filesystem_of(status, name, parent), subvolumes.name_at(parent, name, status))
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise
    finally:
        os.close(parent)


def _open_following(path: bytes) -> int:
    return folders.open_folder(path + b"/.")


def _filesystem_of(status: kernel.FileStatus, name: bytes, parent: int) -> str:
    """Return the name of the filesystem; a mount point belongs to what is mounted there."""
    descriptor = parent
    if status.is_directory:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        return filesystems.identify(descriptor, mounts.of_descriptor(mounts.read(), descriptor))
    finally:
        if descriptor != parent:
            os.close(descriptor)


def _identity(status: kernel.FileStatus, uuid: str, subvolume: str) -> Wire:
    return {
        "filesystem_uuid": uuid,
        "subvolume": subvolume,
        "inode": status.inode,
        "birth_ns": status.birth_ns,
        "ctime_ns": None if status.birth_ns is not None else status.changed_ns,
    }


def resolve(path: bytes) -> Tuple[bytes, Optional[bytes]]:
    """Return (absolute path without . and .., the first component that is a symbolic link or None)."""
    clean = os.path.normpath(os.path.join(os.getcwdb(), path))
    clean = clean[1:] if clean.startswith(b"//") else clean
    return clean, first_link(clean)


def first_link(path: bytes) -> Optional[bytes]:
    """Return the shortest leading part of the absolute `path` that is a symbolic link, None when there is none."""
    current = os.open(b"/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    walked = b""
    try:
        for part in path.split(b"/"):
            if not part:
                continue
            walked += b"/" + part
            try:
                following = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    return None
                raise
            os.close(current)
            current = following
            if kernel.statx(b"", current).is_symlink:
                return walked
    finally:
        os.close(current)
    return None


def observe_path(
    root: bytes, relative: bytes, *, also_known_as: Sequence[bytes] = (), excuse: Optional[Excuse] = None
) -> Wire:
    """Return the observation of `relative` below `root` in wire form; OSError when the root cannot be opened.

    The target may lie in the root's own folder (a quarantine); `also_known_as` are then the absolute paths it had,
    by which links inside of it may still name it, and `excuse` takes back what our own acts did to a member's ctime.
    A link or mount on the way makes `identity` None and is reported.
    """
    parent_relative, _, name = relative.rpartition(b"/")
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        seen = _empty(root, relative, top)
        try:
            parent = kernel.open_beneath(top, parent_relative)
        except OSError as error:
            _note_way(seen, error, root, relative)
            return seen
        try:
            around = roots_around(mounts.join(os.path.realpath(root), relative), parent, top)
        except OSError:
            os.close(parent)
            raise
    finally:
        os.close(top)
    try:
        seen["confinement"]["other_roots"] = [os.fsdecode(folder) for folder in around]
        location = mounts.join(os.path.realpath(root), relative)
        mount = mounts.of_descriptor(mounts.read(), parent) or mounts.holding(mounts.read(), location)
        _observe(seen, _Place(parent, name, location, mount), TreeSummary(location, also_known_as, excuse))
    finally:
        os.close(parent)
    if seen["tree"] is not None:
        seen["tree"]["placed_ns"] = _placed_ns(root, relative)
    return seen


def _placed_ns(root: bytes, relative: bytes) -> int:
    """Return the newest ctime of the target and the folders up to the root, which a rename to there changes."""
    parts = relative.split(b"/")
    try:
        return max(os.lstat(mounts.join(root, b"/".join(parts[: n + 1]))).st_ctime_ns for n in range(len(parts)))
    except FileNotFoundError:  # it was moved a moment ago
        return time.time_ns()


def _empty(root: bytes, relative: bytes, top: int) -> Wire:
    path = mounts.join(root, relative)
    mount = mounts.of_descriptor(mounts.read(), top)
    marker, problem = read_marker(top)
    link = first_link(path)
    return {
        "host_ns": time.time_ns(),
        "path": os.fsdecode(path),
        "identity": None,
        "is_directory": False,
        "tree": None,
        "holders": None,
        "obstacles": [],
        "problems": [],
        "root_inode": os.fstat(top).st_ino,
        "root_subvolume": subvolumes.name_of(top),
        "marker": marker,
        "marker_problem": problem,
        "confinement": {
            "filesystem_uuid": filesystems.identify(top, mount),
            "filesystem_type": mount.type if mount else "",
            "symlinked_component": None if link is None else os.fsdecode(link),
            "mounts": [],
            "mounts_complete": True,
            "other_roots": [],
        },
    }


def read_marker(top: int) -> Tuple[Optional[Wire], str]:
    """Return (marker, problem) of an open root; (None, "") when there is no marker."""
    try:
        descriptor = kernel.open_beneath(top, _MARKER_FILE, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, ""
    except PermissionError:
        owner = os.stat(places.PRIVATE, dir_fd=top, follow_symlinks=False).st_uid
        return None, describe(accounts.may_not_look_into(places.PRIVATE, owner), places.PRIVATE)
    except OSError as error:
        return None, describe(error, _MARKER_FILE)
    with open(descriptor, "rb") as file:
        content = file.read(_LARGEST_MARKER_BYTES)
    try:
        marker = json.loads(content)
    except ValueError as error:
        return None, f"root.json is not JSON: {error}"
    if not isinstance(marker, dict):
        return None, "root.json holds no object"
    try:
        private = kernel.open_beneath(top, places.PRIVATE)
    except OSError as error:
        return None, describe(error, places.PRIVATE)
    try:
        return {**marker, "subvolume": marked.subvolume_of(private, marker)}, ""
    finally:
        os.close(private)


def _note_way(seen: Wire, error: OSError, root: bytes, relative: bytes) -> None:
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and seen["confinement"]["symlinked_component"] is None:
        return  # nothing there
    seen["problems"].append(describe(error, relative))
    location = mounts.join(os.path.realpath(root), relative)
    between = mounts.holding(mounts.read(), location)
    if error.errno == errno.EXDEV and between is not None:
        seen["confinement"]["mounts"].append(_mount_sighting(b"", between))


def _mount_sighting(relative: bytes, mount: Optional[mounts.Mount]) -> Wire:
    return {
        "relative": os.fsdecode(relative),
        "source": mount.source if mount else "",
        "filesystem_type": mount.type if mount else "",
    }


def _observe(seen: Wire, place: _Place, tree: TreeSummary) -> None:
    try:
        status = kernel.statx(place.name, place.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        seen["problems"].append(describe(error, b""))
        return
    table = [mount for mount in mounts.read() if mounts.lies_at_or_below(mount.point, place.location)]
    sighted = {mounts.relative_to(mount.point, place.location): mount for mount in table}
    uuid = _filesystem_of(status, place.name, place.parent)
    seen["identity"] = _identity(status, uuid, subvolumes.name_at(place.parent, place.name, status))
    seen["is_directory"] = status.is_directory
    looks = _survey(place, status, frozenset(sighted), tree)
    found = {relative: _mount_sighting(relative, mount) for relative, mount in sighted.items()}
    for relative in looks["mounted"]:
        found.setdefault(relative, _mount_sighting(relative, None))
    seen["confinement"]["mounts"] = [found[relative] for relative in sorted(found)]
    seen["confinement"]["other_roots"] += [
        os.fsdecode(mounts.join(place.location, os.path.dirname(relative))) for relative in looks["roots"]
    ]
    for name in ("tree", "holders", "obstacles"):
        seen[name] = looks[name]


def _survey(place: _Place, status: kernel.FileStatus, mounted: "frozenset[bytes]", tree: TreeSummary) -> Wire:
    obstacles = Obstacles(place.parent, place.mount)
    extents = SharedExtents(place.mount.type if place.mount else "")
    meeting, inside = _MountedPlaces(), RootsInside()
    holders = HolderLook(place.location, place.mount, place.parent)
    target = Target(place.parent, place.name, status, mounted)
    Survey(target, (tree, obstacles, extents, meeting, inside, holders)).run()
    return {
        "tree": tree.summary(_conclude(extents, place, status)),
        "holders": holders.report(),
        "obstacles": obstacles.found,
        "mounted": meeting.found,
        "roots": inside.found,
    }


def _conclude(extents: SharedExtents, place: _Place, status: kernel.FileStatus) -> str:
    if not status.is_directory:
        return extents.conclude(place.parent)
    top = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)
    try:
        return extents.conclude(top)
    finally:
        os.close(top)


def holders_of(path: bytes) -> Wire:
    """Return who uses what stands at the absolute `path`; OSError when nothing is there."""
    folder, name = folders.split_path(os.path.abspath(path))
    parent = _open_following(folder)
    try:
        status = kernel.statx(name, parent)
        location = mounts.join(os.path.realpath(folder), name if name != b"." else b"")
        mount = mounts.of_descriptor(mounts.read(), parent)
        look = HolderLook(location, mount, parent)
        Survey(Target(parent, name, status, mounts.mount_points_below(location)), (look,)).run()
        return look.report()
    finally:
        os.close(parent)
