"""Every operation of a root, with where its bytes are now: what recovery decides from."""

from __future__ import annotations

import errno
import os
from typing import Any, Dict, List, Optional

from artifactctl.hosts.probe import manifest, places
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.journal import Journal
from artifactctl.hosts.probe.operation import (
    FINISHED,
    Known,
    Standing,
    content_of,
    found_at,
    from_note,
    matches,
    open_operation_folder,
    replay,
)
from artifactctl.hosts.probe.rootfolder import RootFolder, closing

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)


def operations(root: RootFolder) -> List[Dict[str, Any]]:
    """Return one row an operation, in the order of their intents, then those that only their notes tell of.

    RootMismatch when the journal is that of another root, JournalDamaged when it cannot be trusted. `in_purging` says
    that the operation's folder is `.purging` and its purge not yet journalled as done; members may be gone already.
    """
    known = replay(Journal(root).read().records)
    rows = [_row(root, each) for each in known.values()]
    for name in folders(root):
        if name not in known:
            found = from_note(root, name.encode(), name)
            if found is not None:
                rows.append(_row(root, found))
    return rows


def folders(root: RootFolder) -> List[str]:
    """Return the operations that have a folder, by name."""
    names = set()
    for entry in os.listdir(root.quarantine_fd):
        folder = os.fsencode(entry)
        if folder.endswith(places.PURGING_SUFFIX):
            folder = folder[: -len(places.PURGING_SUFFIX)]
        if places.names_operation(folder):
            names.add(folder.decode())
    return sorted(names)


def find(root: RootFolder, name: str) -> Known:
    """Return one operation as journal or note tell it; ProbeFailure when neither knows it."""
    known = replay(Journal(root).read().records).get(name) or from_note(root, places.operation_folder(name), name)
    if known is None:
        raise ProbeFailure(
            f"there is no operation {name} on this root", remedy="`artifactctl quarantine ls` shows what there is"
        )
    return known


def lies_at(root: RootFolder, name: str) -> "tuple[bytes, bytes]":
    """Return (where an operation's content is now, where it was taken from), both below the root."""
    known = find(root, name)
    _, purging = content_of(root, known)
    return _placed_now(known, purging=purging), known.original


def placed(known: Known) -> bytes:
    """Return where an operation's content lies or would lie, below the root, were its folder not `.purging`."""
    if known.intent["sibling"]:
        parent, _ = places.split(known.original)
        parts = [part for part in (parent, places.sibling_folder(known.operation), places.CONTENT) if part]
        return b"/".join(parts)
    return b"/".join((places.PRIVATE, places.QUARANTINE, places.operation_folder(known.operation), places.CONTENT))


def _row(root: RootFolder, known: Known) -> Dict[str, Any]:
    content, purging = content_of(root, known)
    original = _at(root, known.original)
    identity = known.intent["identity"]
    finished = known.event in FINISHED
    return {
        "operation": known.operation,
        "event": known.event,
        "at": known.at,
        "original": known.intent["relative"],
        "placed": os.fsdecode(placed(known)),
        "identity": identity,
        "fingerprint": known.intent["fingerprint"],
        "name": known.intent["name"],
        "allocated_bytes": known.intent["allocated_bytes"],
        "catalog_id": known.intent["catalog_id"],
        "at_original": original is not None,
        "original_matches": None if original is None else matches(identity, original),
        "in_quarantine": content is not None and not purging,
        "quarantine_matches": None if content is None else matches(identity, content),
        "in_purging": purging and known.event != "purged",
        "manifest_intact": not finished and _manifest_intact(root, known),
        "restored_to": known.restored_to,
        "was_kept": known.was_kept,
    }


def _placed_now(known: Known, *, purging: bool) -> bytes:
    path = placed(known)
    if purging and not known.intent["sibling"]:
        folder, content = os.path.split(path)
        return folder + places.PURGING_SUFFIX + b"/" + content
    return path


def _at(root: RootFolder, relative: bytes) -> Optional[Standing]:
    """Return what stands at a path below the root, None when nothing does or only through a link or a mount."""
    try:
        parent_fd, name = root.open_parent(relative)
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise
        return None
    with closing(parent_fd):
        return found_at(parent_fd, name)


def _manifest_intact(root: RootFolder, known: Known) -> bool:
    try:
        folder_fd, _ = open_operation_folder(root, places.operation_folder(known.operation))
    except FileNotFoundError:
        return False
    with closing(folder_fd):
        return manifest.verify(folder_fd, known.operation)
