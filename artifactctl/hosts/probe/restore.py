"""Putting a quarantined target back, or to another place below the same root.

1. Refuse when the purge has begun.                    I9: from `.purging` on there is only completion.
2. Refuse when the place is taken.                     Nothing is touched, nothing journalled.
3. Journal the intent, rename without replacing.
4. fsync both parents, then journal.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from functools import partial
from typing import Optional

from artifactctl.hosts.probe import durable, places, renaming, room
from artifactctl.hosts.probe.operation import Operation, found_at, matches
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, closing
from artifactctl.hosts.probe.witness import witnessing

_OUTCOMES = {
    errno.EEXIST: "occupied",
    errno.ENOTEMPTY: "occupied",
    errno.ENOENT: "no_parent",
    errno.EXDEV: "cross_device",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
}
_NO_PARENT = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR)


def put_back(root: RootFolder, name: str, *, to: Optional[bytes], reason: str) -> str:
    """Rename the content out of quarantine and journal it; returns a value of `PutBack`.

    After a crash between rename and journal a second call completes the first.
    """
    operation = Operation(root, name)
    if operation.event in ("purging", "purged"):
        return "purging"
    reached("put-back:begun")
    relative = to or operation.known.original
    try:
        folder_fd, purging = operation.open_folder()
    except FileNotFoundError:
        if operation.content() is None:
            return _complete(operation, relative)
        folder_fd = os.dup(root.quarantine_fd)  # the content is in the sibling folder, which is opened by itself
        purging = False
    with closing(folder_fd):
        if purging:
            return "purging"
        if operation.content() is None:
            return _complete(operation, relative)
        return _put_back_to(operation, folder_fd, relative, reason)


def _complete(operation: Operation, relative: bytes) -> str:
    """Journal a restore whose rename is done: before a crash of ours, or by a person; `absent` when it is not there."""
    if operation.event not in ("renamed", "quarantined", "kept", "restore_intended"):
        return "absent"
    if operation.event == "restore_intended" and operation.known.restored_to:
        relative = os.fsencode(operation.known.restored_to)
    try:
        parent_fd, target = operation.root.open_parent(relative)
    except OSError as error:
        if error.errno in (*_NO_PARENT, errno.EXDEV):
            return "absent"
        raise
    with closing(parent_fd):
        present = found_at(parent_fd, target)
        if present is None or not matches(operation.identity, present):
            return "absent"
        durable.flush_folder(parent_fd)
    operation.record("restored", to=os.fsdecode(relative))
    clear_away(operation)
    return "done"


def _put_back_to(operation: Operation, folder_fd: int, relative: bytes, reason: str) -> str:
    try:
        parent_fd, target = operation.root.open_parent(relative)
    except OSError as error:
        if error.errno in _NO_PARENT:
            return "no_parent"
        if error.errno == errno.EXDEV:
            return "cross_device"
        raise
    with closing(parent_fd), closing(operation.open_holding(folder_fd)) as holding_fd:
        outcome = _move(operation, holding_fd, (parent_fd, target), relative, reason)
    if outcome == "done":
        clear_away(operation)
    return outcome


def _move(operation: Operation, holding_fd: int, place: "tuple[int, bytes]", relative: bytes, reason: str) -> str:
    parent_fd, target = place
    content = found_at(holding_fd, places.CONTENT)
    if content is None or not matches(operation.identity, content):
        return "replaced"
    if renaming.exists(target, parent_fd):
        return "occupied"
    before = operation.event
    operation.record("restore_intended", to=os.fsdecode(relative), reason=reason)
    reached("put-back:intent-journalled")
    try:
        with witnessing(operation.root) as witness:
            move = partial(_rename_back, operation.root, holding_fd, parent_fd, target)
            witness.see(holding_fd, places.CONTENT, content.status, move)
    except OSError as error:
        operation.record(before, to="", reason=f"not restored: {error.strerror}")
        outcome = _OUTCOMES.get(error.errno or 0)
        if outcome is None:
            raise
        return outcome
    reached("put-back:renamed")
    durable.flush_folder(holding_fd)
    durable.flush_folder(parent_fd)
    reached("put-back:synced")
    operation.record("restored", to=os.fsdecode(relative))
    reached("put-back:journalled")
    return "done"


def _rename_back(root: RootFolder, holding_fd: int, parent_fd: int, target: bytes) -> None:
    rename = renaming.rename_publicly
    root.require_lock()
    room.with_room(root.private_fd, lambda: rename(holding_fd, places.CONTENT, parent_fd, target))


def clear_away(operation: Operation) -> None:
    """Remove the sibling folder, give the operation's folder back; what a crash leaves is harmless and empty."""
    if operation.known.intent["sibling"]:
        parent_fd, _ = operation.root.open_parent(operation.known.original)
        with closing(parent_fd):
            with suppress(FileNotFoundError):  # removed before a crash
                os.rmdir(places.sibling_folder(operation.name), dir_fd=parent_fd)
            durable.flush_folder(parent_fd)
    for folder in (operation.folder, operation.folder + places.PURGING_SUFFIX):
        if renaming.exists(folder, operation.root.quarantine_fd):
            room.give_back_folder(operation.root.private_fd, operation.root.quarantine_fd, folder)
