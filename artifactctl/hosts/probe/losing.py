"""Closing an operation whose content somebody took away by hand: journalled as lost, and nothing else is touched.

Only what is nowhere is lost: something in quarantine, even somebody else's or half emptied, is not, and what stands at
its old path is restored (unless its purge was announced: then it may be half of it). A `.purging` folder is completed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from artifactctl.hosts.probe import places, renaming, room
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.operation import FINISHED, Operation, found_at, matches
from artifactctl.hosts.probe.rootfolder import RootFolder, closing


def give_up(root: RootFolder, name: str, reason: str) -> None:
    """Journal that the content is lost and give the operation's folder back; ProbeFailure while it is anywhere."""
    operation = Operation(root, name)
    if operation.event in FINISHED:
        raise ProbeFailure(f"operation {name} is over: it is {operation.event}", remedy="`artifactctl doctor`")
    where = _where_it_is(operation)
    if where:
        raise ProbeFailure(f"operation {name} is not lost: {where}", remedy="`artifactctl doctor` says what is next")
    operation.record("lost", reason=reason)
    if renaming.exists(operation.folder, root.quarantine_fd):
        room.give_back_folder(root.private_fd, root.quarantine_fd, operation.folder)
    if operation.known.intent["sibling"]:
        _remove_sibling(operation)


def _where_it_is(operation: Operation) -> str:
    if renaming.exists(operation.folder + places.PURGING_SUFFIX, operation.root.quarantine_fd):
        return "its purge has begun and its folder is there"
    if operation.content() is not None:
        return "something lies in its quarantine"
    if operation.event in ("purge_intended", "purging"):
        return ""
    try:
        parent_fd, target = operation.root.open_parent(operation.known.original)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    with closing(parent_fd):
        present = found_at(parent_fd, target)
    return "it is at its place" if present is not None and matches(operation.identity, present) else ""


def _remove_sibling(operation: Operation) -> None:
    """Remove the empty folder beside the old path; one that holds anything is somebody else's and stays."""
    with suppress(FileNotFoundError, NotADirectoryError):
        parent_fd, _ = operation.root.open_parent(operation.known.original)
        with closing(parent_fd), suppress(OSError):
            os.rmdir(places.sibling_folder(operation.name), dir_fd=parent_fd)
