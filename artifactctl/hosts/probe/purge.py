"""Removing for good what lies in quarantine, and only that.

1. The manifest is whole: without it nothing can be matched.     I3: what is not known is not removed.
2. Journal, rename the folder to `.purging`, fsync, journal.     I9: from here a restore is refused.
3. Unlink member by member as the manifest lists them.           `emptying`; what differs is left and reported.
4. fsync the folder that held it, then journal.                  I7: gone is only what is durably gone.

After PURGED the operation's folder becomes a spare one again: the catalog keeps the tombstone, the journal the record.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional

from artifactctl.hosts.probe import durable, manifest, places, renaming, room
from artifactctl.hosts.probe.emptying import Emptying, Pace
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.operation import Operation, matches
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.restore import clear_away
from artifactctl.hosts.probe.rootfolder import RootFolder, closing
from artifactctl.hosts.probe.sweeping import sweep
from artifactctl.hosts.probe.witness import Witness


def begin_purge(root: RootFolder, name: str) -> None:
    """Pass the point of no return. A second call after a crash completes the first."""
    operation = Operation(root, name)
    operation.require(("quarantined", "kept", "purge_intended", "purging"), "purged")
    if operation.event == "purging":
        return
    reached("begin-purge:begun")
    folder_fd, purging = operation.open_folder()
    with closing(folder_fd):
        if not purging:
            _check_purgeable(operation, folder_fd)
            operation.record("purge_intended")
            reached("begin-purge:intent-journalled")
            root.require_lock()
            purging_name = operation.folder + places.PURGING_SUFFIX
            room.with_room(
                root.private_fd,
                lambda: renaming.rename_privately(
                    root.quarantine_fd, operation.folder, root.quarantine_fd, purging_name
                ),
            )
            reached("begin-purge:renamed")
    durable.flush_folder(root.quarantine_fd)
    reached("begin-purge:synced")
    operation.record("purging")
    reached("begin-purge:journalled")


def _check_purgeable(operation: Operation, folder_fd: int) -> None:
    content = operation.content()
    if content is None:
        raise ProbeFailure(
            f"operation {operation.name} has no content in quarantine", remedy="`artifactctl doctor` looks where it is"
        )
    if not matches(operation.identity, content):
        raise ProbeFailure(
            f"what lies in the quarantine of operation {operation.name} is not what was set aside",
            remedy="find out who replaced it, a snapshot of its subvolume perhaps; nothing of it is removed",
        )
    for _ in manifest.read(folder_fd, operation.name):
        pass


def purge(
    root: RootFolder,
    name: str,
    *,
    still_held: Callable[[], bool],
    files_per_second: Optional[float] = None,
    should_stop: Optional[Callable[[], bool]] = None,
    progress: Optional[Callable[[int, int], None]] = None,
) -> Dict[str, Any]:
    """Remove what matches the manifest; returns the fields of `PurgeResult`, paths surrogate-escaped.

    May be called again after an interruption: what is absent counts as done.
    """
    pace = Pace(still_held=still_held, should_stop=should_stop, files_per_second=files_per_second)
    operation = Operation(root, name)
    if operation.event == "purged":
        sweep(root)
        return _result(complete=True)
    operation.require(("purging",), "purged")
    reached("purge:begun")
    folder_fd, purging = operation.open_folder()
    with closing(folder_fd):
        if not purging:
            raise ProbeFailure(
                f"operation {name} is journalled as purging, but its folder is not: a person renamed it",
                remedy="`artifactctl doctor`",
            )
        for _ in manifest.read(folder_fd, name):  # to its end, before anything is unlinked
            pass
        try:
            holding_fd = operation.open_holding(folder_fd)
        except FileNotFoundError:
            holding_fd = os.dup(folder_fd)  # the sibling folder went with the content before a crash
        with closing(holding_fd):
            emptying = Emptying(holding_fd, pace=pace, witness=Witness(root), progress=progress)
            emptying.run(manifest.read(folder_fd, name))
            return _conclude(operation, holding_fd, emptying)


def _conclude(operation: Operation, holding_fd: int, emptying: Emptying) -> Dict[str, Any]:
    gone = not renaming.exists(places.CONTENT, holding_fd)
    if gone and not emptying.interrupted:
        reached("purge:emptied")
        durable.flush_folder(holding_fd)
        reached("purge:synced")
        operation.record("purged")
        reached("purge:journalled")
        clear_away(operation)
        sweep(operation.root)
        room.make_room_if_plenty(operation.root.private_fd, operation.root.quarantine_fd)
    return _result(complete=gone and not emptying.interrupted, emptying=emptying)


def _result(*, complete: bool, emptying: Optional[Emptying] = None) -> Dict[str, Any]:
    return {
        "complete": complete,
        "removed_files": emptying.removed_files if emptying else 0,
        "removed_bytes": emptying.removed_bytes if emptying else 0,
        "mismatched": [os.fsdecode(path) for path in emptying.mismatched] if emptying else [],
        "errors": list(emptying.errors) if emptying else [],
        "interrupted": emptying.interrupted if emptying else False,
    }
