"""Copies of a root: which there are and how far, putting a complete one in its place, taking away what is over.

A complete copy is renamed to its place without replacing anything; its folder stays until the catalog knows it, so
that after a crash at any point somebody can tell what happened. What is taken away is only what the listing names and
the files that `copy_folder` writes: anything else was put there by somebody, stays, and is named.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from typing import Any, Dict, Iterable, List, Optional, Tuple

from artifactctl.hosts.probe import copy_folder, durable, places, renaming
from artifactctl.hosts.probe.copy_folder import OVER_SUFFIX, OWN_NAMES, Wire
from artifactctl.hosts.probe.copy_source import CopyRow
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.kernel import open_beneath, statx
from artifactctl.hosts.probe.operation import found_at, matches
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, give_to_owner

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OUTCOMES = {
    errno.EEXIST: "occupied",
    errno.ENOTEMPTY: "occupied",
    errno.EXDEV: "cross_device",
    errno.ELOOP: "no_parent",
    errno.ENOTDIR: "no_parent",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
}


def copies(root: RootFolder) -> List[Wire]:
    """Return one row a copy that has a folder, by operation: its note, and how far it is.

    `state`: `over` (only a rest to be taken away), `empty` (never begun), `begun`, `complete`, `placed` (complete, and
    it is at its place, not in the folder) or `vanished` (neither). `files_done` of `files` were read back, `bytes_done`
    of `bytes`; `is_being_written`: a process is at it right now. Changes nothing.
    """
    try:
        archiving_fd = copy_folder.open_archiving(root)
    except FileNotFoundError:
        return []
    with closing(archiving_fd):
        names = sorted(os.fsencode(entry) for entry in os.listdir(archiving_fd))
        return [_row(root, archiving_fd, name) for name in names if _operation_of(name)]


def _operation_of(folder: bytes) -> str:
    name = folder[: -len(OVER_SUFFIX)] if folder.endswith(OVER_SUFFIX) else folder
    return name.decode() if places.names_operation(name) else ""


def _row(root: RootFolder, archiving_fd: int, folder: bytes) -> Wire:
    row: Wire = {"operation": _operation_of(folder), "state": "over", "note": {}, "files": 0, "files_done": 0}
    row.update(bytes=0, bytes_done=0, is_being_written=False)
    with closing(os.open(folder, _FOLDER, dir_fd=archiving_fd)) as folder_fd:
        note = copy_folder.read_json(folder_fd, places.NOTE)
        if folder.endswith(OVER_SUFFIX):
            return {**row, "note": note or {}}
        if note is None:
            return {**row, "state": "empty"}
        files = {r.relative: r.size for r in copy_folder.rows_in(folder_fd) if r.letter == "f"}
        done = copy_folder.done_in(folder_fd)
        row.update(note=note, files=len(files), bytes=sum(files.values()), files_done=len(done))
        row["bytes_done"] = sum(files.get(name, 0) for name in done)
        row["state"] = _state(root, folder_fd, note)
        row["is_being_written"] = _is_locked(folder_fd)
        return row


def _is_locked(folder_fd: int) -> bool:
    try:
        fcntl.flock(folder_fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(folder_fd, fcntl.LOCK_UN)
    return False


def copied(root: RootFolder, operation: str) -> "Tuple[List[CopyRow], List[Tuple[bytes, str]]]":
    """Return (what a copy has, (path, digest) of its files that were read back)."""
    with closing(copy_folder.open_copy(root, operation)) as folder_fd:
        return copy_folder.rows_in(folder_fd), list(copy_folder.done_in(folder_fd).items())


def _state(root: RootFolder, folder_fd: int, note: Wire) -> str:
    complete = copy_folder.read_json(folder_fd, copy_folder.COMPLETE)
    if complete is None:
        return "begun"
    if renaming.exists(places.CONTENT, folder_fd):
        return "complete"
    return "placed" if _stands_at_place(root, os.fsencode(note["relative"]), complete["identity"]) else "vanished"


def _stands_at_place(root: RootFolder, relative: bytes, identity: Dict[str, Any]) -> bool:
    try:
        parent_fd, name = root.open_parent(relative)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV):
            raise
        return False
    with closing(parent_fd):
        found = found_at(parent_fd, name)
        return found is not None and matches(identity, found)


def place(root: RootFolder, operation: str) -> str:
    """Rename a complete copy to its place; `done`, or why not: `occupied`, `no_parent`, `denied`, `cross_device`.

    Folders above it are made. A second call after a crash completes the first.
    """
    with closing(copy_folder.open_copy(root, operation)) as folder_fd:
        note = copy_folder.read_json(folder_fd, places.NOTE)
        complete = copy_folder.read_json(folder_fd, copy_folder.COMPLETE)
        if note is None or complete is None:
            raise ProbeFailure(f"the copy {operation} is not complete", remedy="`artifactctl doctor`")
        relative = os.fsencode(note["relative"])
        content = found_at(folder_fd, places.CONTENT)
        if content is None:
            if not _stands_at_place(root, relative, complete["identity"]):
                raise ProbeFailure(f"the copy {operation} is neither in its folder nor at its place")
            return "done"
        if not matches(complete["identity"], content):
            raise ProbeFailure(f"what lies in the folder of the copy {operation} is not what was written there")
        try:
            with closing(_made_parent(root, places.split(relative)[0])) as parent_fd:
                name = places.split(relative)[1]
                renaming.rename_publicly(folder_fd, places.CONTENT, parent_fd, name)
                reached("copy:placed")
                durable.flush_folder(folder_fd)
                durable.flush_folder(parent_fd)
        except OSError as error:
            outcome = _OUTCOMES.get(error.errno or 0)
            if outcome is None:
                raise
            return outcome
        reached("copy:place-synced")
        return "done"


def _made_parent(root: RootFolder, relative: bytes) -> int:
    """Open a folder below the root, making what is missing of it; durable when it returns."""
    current = os.dup(root.root_fd)
    for part in filter(None, relative.split(b"/")):
        try:
            try:
                following = open_beneath(current, part)
            except FileNotFoundError:
                os.mkdir(part, 0o755, dir_fd=current)
                following = open_beneath(current, part)
                give_to_owner(following, current)
                durable.flush_folder(current)
        finally:
            os.close(current)
        current = following
    return current


def take_away(root: RootFolder, operation: str) -> List[bytes]:
    """Remove the folder of a copy and what was written there; returns what was left since it is not ours.

    A copy that is at its place stays there: only the folder goes. May be called again after a crash.
    """
    folder = places.operation_folder(operation)
    try:
        archiving_fd = copy_folder.open_archiving(root)
    except FileNotFoundError:
        return []
    with closing(archiving_fd):
        if renaming.exists(folder, archiving_fd):
            renaming.rename_privately(archiving_fd, folder, archiving_fd, folder + OVER_SUFFIX)
            durable.flush_folder(archiving_fd)
            reached("copy:over")
        try:
            folder_fd = os.open(folder + OVER_SUFFIX, _FOLDER, dir_fd=archiving_fd)
        except FileNotFoundError:
            return []
        with closing(folder_fd):
            left = _emptied(folder_fd)
        if not left:
            os.rmdir(folder + OVER_SUFFIX, dir_fd=archiving_fd)
            durable.flush_folder(archiving_fd)
        return left


def _emptied(folder_fd: int) -> List[bytes]:
    """Remove the copy by its listing, then our own files, the listing last; return what else is there."""
    if renaming.exists(places.CONTENT, folder_fd):
        _remove_content(folder_fd)
        if renaming.exists(places.CONTENT, folder_fd):
            return _names_below(folder_fd)
    present = {os.fsencode(name) for name in os.listdir(folder_fd)}
    strangers = sorted(present - set(OWN_NAMES))
    if not strangers:
        for name in sorted(present, key=lambda name: name == copy_folder.LISTING):
            os.unlink(name, dir_fd=folder_fd)
    return strangers


def _remove_content(folder_fd: int) -> None:
    """Unlink what the listing names, folders after what is in them; a folder that is not empty then stays."""
    rows = copy_folder.rows_in(folder_fd)
    for row in rows:
        if row.letter == "d":
            _open_up(folder_fd, row)
    for row in reversed(rows):
        try:
            with closing(_parent_of(folder_fd, row)) as parent_fd:
                _remove(parent_fd, row)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.ENOTDIR, errno.ELOOP):
                raise


def _open_up(folder_fd: int, row: CopyRow) -> None:
    """Let names be removed from a folder that was given its final mode already."""
    way = places.CONTENT + (b"/" + row.relative if row.relative else b"")
    with suppress(FileNotFoundError, NotADirectoryError), closing(open_beneath(folder_fd, way)) as descriptor:
        os.fchmod(descriptor, 0o700)


def _parent_of(folder_fd: int, row: CopyRow) -> int:
    if not row.relative:
        return os.dup(folder_fd)
    parent = row.relative.rpartition(b"/")[0]
    return open_beneath(folder_fd, places.CONTENT + (b"/" + parent if parent else b""))


def _remove(parent_fd: int, row: CopyRow) -> None:
    name = row.relative.rpartition(b"/")[2] or places.CONTENT
    if row.letter != "d":
        if not statx(name, parent_fd).is_directory:
            os.unlink(name, dir_fd=parent_fd)
        return
    with suppress(PermissionError):
        os.rmdir(name, dir_fd=parent_fd)


def _names_below(folder_fd: int) -> List[bytes]:
    """Return what is left below the copy's folder, folders that hold something left out."""
    left: List[bytes] = []
    waiting: List[bytes] = [places.CONTENT]
    while waiting:
        here = waiting.pop()
        found = _listed(folder_fd, here)
        if found is None:
            left.append(here)
        else:
            waiting += [here + b"/" + name for name in found]
    return sorted(left)


def _listed(folder_fd: int, relative: bytes) -> "Optional[Iterable[bytes]]":
    """Return the names in a folder, None when it is none, or an empty one."""
    try:
        descriptor = open_beneath(folder_fd, relative)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EXDEV):
            raise
        return None
    with closing(descriptor):
        return [os.fsencode(name) for name in os.listdir(descriptor)] or None
