"""Setting a target aside, in the order that loses nothing.

1. Manifest and note, fsynced, then the intent in the journal.   I1: nothing goes without a durable record.
2. Rename into the operation's folder, never replacing.          I2: by descriptors, no link followed, no mount crossed.
3. Look what was moved; another inode goes back at once.         The name could have changed hands between two calls.
4. fsync both parents, then journal.                             The journal never runs ahead of the disk.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from functools import partial
from typing import Any, Dict, Optional

from artifactctl.hosts.probe import durable, fingerprint, kernel, manifest, membership, note, places, renaming, room
from artifactctl.hosts.probe.alone import InUse, held_alone
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.fingerprint import PathByDepth
from artifactctl.hosts.probe.journal import Journal
from artifactctl.hosts.probe.operation import (
    INTENT_FIELDS,
    Operation,
    Standing,
    found_at,
    matches,
    matches_untouched,
    replay,
)
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, open_private_folder, printable
from artifactctl.hosts.probe.witness import witnessing

_OUTCOMES = {
    errno.ENOENT: "absent",
    errno.EXDEV: "cross_device",
    errno.EBUSY: "mounted",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.EEXIST: "occupied",
    errno.ENOTEMPTY: "occupied",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
}
_NOT_THE_PATH = (errno.ELOOP, errno.ENOTDIR)


def intend(root: RootFolder, details: Dict[str, Any]) -> str:
    """Write manifest and note and journal the intent; returns the fingerprint of what the manifest lists.

    `details`: operation, relative, sibling, identity (inode, birth_ns, ctime_ns, filesystem_uuid, subvolume), name,
    kind, allocated_bytes, root_id, catalog_id, reason, actor, evidence, at, planned_fingerprint.
    """
    operation = details["operation"]
    folder = places.operation_folder(operation)
    journal = Journal(root)
    if operation in replay(journal.read().records):
        raise ProbeFailure(f"operation {operation} is already in the journal", remedy="plan again")
    reached("intend:begun")
    _clear_leftover(root, folder)
    folder_fd = room.take_folder(root.private_fd, root.quarantine_fd, folder)
    reached("intend:folder-made")
    try:
        with closing(folder_fd):
            noted = _write_down(root, folder_fd, details)
        journal.append(operation, "intended", {field: noted[field] for field in INTENT_FIELDS})
    except (OSError, ProbeFailure):
        room.give_back_folder(root.private_fd, root.quarantine_fd, folder)
        raise
    reached("intend:journalled")
    recorded: str = noted["fingerprint"]
    return recorded


def _write_down(root: RootFolder, folder_fd: int, details: Dict[str, Any]) -> Dict[str, Any]:
    """Write manifest and note durably; returns the note's fields, with the fingerprint of what the manifest lists."""
    noted = {**details, "fingerprint": _write_manifest(root, folder_fd, details)}
    reached("intend:manifest-written")
    room.with_room(root.private_fd, lambda: note.write(folder_fd, noted))
    durable.flush_folder(folder_fd)
    reached("intend:note-written")
    return noted


def _clear_leftover(root: RootFolder, folder: bytes) -> None:
    """Make room for the name where an earlier try died before its intent; a folder with content is never touched."""
    present = found_at(root.quarantine_fd, folder)
    if present is None:
        return
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root.quarantine_fd)
    with closing(folder_fd):
        if renaming.exists(places.CONTENT, folder_fd):
            raise ProbeFailure(
                f"the quarantine {os.fsdecode(folder)} already holds something", remedy="`artifactctl quarantine ls`"
            )
    room.give_back_folder(root.private_fd, root.quarantine_fd, folder)


def _write_manifest(root: RootFolder, folder_fd: int, details: Dict[str, Any]) -> str:
    relative = os.fsencode(details["relative"])
    parent_fd, name = root.open_parent(relative)
    with closing(parent_fd):
        present = found_at(parent_fd, name)
        if present is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(relative))
        if not matches_untouched(details["identity"], present):
            raise ProbeFailure(f"another file or folder stands at {printable(relative)} now", remedy="plan again")
        return room.with_room(root.private_fd, lambda: _take_stock(folder_fd, details["operation"], parent_fd, name))


def _take_stock(folder_fd: int, operation: str, parent_fd: int, name: bytes) -> str:
    digest, paths = hashlib.sha256(), PathByDepth()

    def each(member: manifest.Member) -> None:
        times = {"modified_ns": member.modified_ns, "changed_ns": member.changed_ns}
        path = paths.path(member.depth, member.name)
        digest.update(fingerprint.record(path, member.kind, member.inode, member.size, **times))

    manifest.write(folder_fd, operation, membership.members(parent_fd, name), each)
    return digest.hexdigest()


def set_aside(root: RootFolder, name: str) -> str:
    """Rename the target into quarantine and journal it; returns a value of `SetAside`.

    After a crash between rename and journal a second call completes the first.
    """
    operation = Operation(root, name)
    operation.require(("intended",), "set aside")
    reached("set-aside:begun")
    try:
        parent_fd, target = root.open_parent(operation.known.original)
    except OSError as error:
        if error.errno in _NOT_THE_PATH:
            return "replaced"
        if error.errno in (errno.ENOENT, errno.EXDEV):
            return _OUTCOMES[error.errno]
        raise
    with closing(parent_fd):
        return _set_aside_from(operation, parent_fd, target)


def _set_aside_from(operation: Operation, parent_fd: int, target: bytes) -> str:
    content = operation.content()
    if content is None:
        outcome = _refusal(operation, found_at(parent_fd, target))
        if outcome:
            return outcome
    elif not matches(operation.identity, content):
        return "occupied"  # somebody else's: neither replaced nor taken for the target
    folder_fd, purging = operation.open_folder()
    with closing(folder_fd):
        if purging:
            raise ProbeFailure(f"operation {operation.name} is being purged", remedy="`artifactctl doctor`")
        try:
            holding_fd = _make_holding(operation, folder_fd, parent_fd)
        except OSError as error:
            return _outcome_of(error)
        with closing(holding_fd):
            outcome = _move(operation, parent_fd, target, holding_fd)
        if outcome != "done" and operation.known.intent["sibling"]:
            os.rmdir(places.sibling_folder(operation.name), dir_fd=parent_fd)
        return outcome


def _refusal(operation: Operation, present: Optional[Standing]) -> str:
    if present is None:
        return "absent"
    if not matches_untouched(operation.identity, present):
        return "replaced"
    return "mounted" if present.status.attributes & kernel.ATTRIBUTE_MOUNT_ROOT else ""


def _make_holding(operation: Operation, folder_fd: int, parent_fd: int) -> int:
    if not operation.known.intent["sibling"]:
        return os.dup(folder_fd)
    sibling = places.sibling_folder(operation.name)
    with suppress(FileExistsError):  # ours from before a crash: its owner and mode are checked next
        room.with_room(operation.root.private_fd, lambda: os.mkdir(sibling, 0o700, dir_fd=parent_fd))
    return open_private_folder(parent_fd, operation.root.reference.path, sibling)


def _outcome_of(error: OSError) -> str:
    outcome = _OUTCOMES.get(error.errno or 0)
    if outcome is None:
        raise error
    return outcome


def _move(operation: Operation, parent_fd: int, target: bytes, holding_fd: int) -> str:
    there = found_at(holding_fd, places.CONTENT)
    if there is not None and not matches(operation.identity, there):
        return "occupied"  # somebody else's: it was not us who put it there, so it is not ours to move
    if there is None:
        reached("set-aside:checked")
        try:
            with held_alone(parent_fd, target) as leased, witnessing(operation.root) as witness:
                rename = partial(_rename_aside, operation.root, parent_fd, target, holding_fd)
                witness.see_whole(parent_fd, target, leased, rename)
        except InUse:
            return "in_use"
        except OSError as error:
            return _outcome_of(error)
    reached("set-aside:renamed")
    moved = found_at(holding_fd, places.CONTENT)
    if moved is None or not matches(operation.identity, moved):
        renaming.rename_publicly(holding_fd, places.CONTENT, parent_fd, target)
        return "replaced"
    durable.flush_folder(parent_fd)
    durable.flush_folder(holding_fd)
    reached("set-aside:synced")
    operation.record("renamed")
    reached("set-aside:journalled")
    return "done"


def _rename_aside(root: RootFolder, parent_fd: int, target: bytes, holding_fd: int) -> None:
    rename = renaming.rename_privately
    root.require_lock()
    room.with_room(root.private_fd, lambda: rename(parent_fd, target, holding_fd, places.CONTENT))


def confirm(root: RootFolder, name: str) -> None:
    """Journal that it stays in quarantine: the second look was clear, or a restore or purge did not begin."""
    operation = Operation(root, name)
    operation.require(("renamed", "quarantined", "restore_intended", "purge_intended"), "confirmed")
    if operation.content() is None:
        raise ProbeFailure(
            f"operation {name} cannot be confirmed: nothing of it lies in quarantine",
            remedy="`artifactctl doctor` looks where it is",
        )
    operation.record("quarantined")


def keep(root: RootFolder, name: str, reason: str) -> None:
    """Journal that it stays in quarantine, in use, since its old path is taken."""
    operation = Operation(root, name)
    operation.require(("renamed", "quarantined", "restore_intended", "kept"), "kept")
    operation.record("kept", reason=reason)


def abandon(root: RootFolder, name: str, reason: str) -> None:
    """Journal that an intended rename never happened, and give its folder back."""
    operation = Operation(root, name)
    operation.require(("intended", "renamed"), "abandoned")
    if operation.content() is not None:
        raise ProbeFailure(
            f"operation {name} cannot be abandoned: its content lies in quarantine",
            remedy=f"`artifactctl quarantine restore {name}`",
        )
    operation.record("abandoned", reason=reason)
    room.give_back_folder(root.private_fd, root.quarantine_fd, operation.folder)
