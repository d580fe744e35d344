"""Giving back the folders that a crash or a full disk left behind: those of finished operations, and empty ones."""

from __future__ import annotations

from typing import Optional

from artifactctl.hosts.probe import ledger, own_changes, places, renaming, room
from artifactctl.hosts.probe.journal import Journal
from artifactctl.hosts.probe.operation import FINISHED, Known, from_note, replay
from artifactctl.hosts.probe.rootfolder import RootFolder


def sweep(root: RootFolder) -> None:
    """Make spare folders of what no live operation needs; the record of our own changes goes with the last one.

    A folder with content is never touched.
    """
    known = replay(Journal(root).read().records)
    if not any(_is_needed(root, name, known.get(name)) for name in (*known, *ledger.folders(root))):
        own_changes.forget(root)
    for name in ledger.folders(root):
        folder = places.operation_folder(name)
        for candidate in () if _is_needed(root, name, known.get(name)) else (folder, folder + places.PURGING_SUFFIX):
            if renaming.exists(candidate, root.quarantine_fd):
                room.give_back_folder(root.private_fd, root.quarantine_fd, candidate)


def _is_needed(root: RootFolder, name: str, known: Optional[Known]) -> bool:
    if known is not None:
        return known.event not in FINISHED
    # no intent was journalled; only its note can say that its content lies in a sibling folder
    return from_note(root, places.operation_folder(name), name) is not None
