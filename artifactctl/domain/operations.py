"""The life of one removal as the root's journal tells it, and what recovery may do.

The root's journal decides where bytes are; the catalog decides what is permitted.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from artifactctl.domain.identity import FileIdentity


class JournalEvent(StrEnum):
    """Each is durable before the act it announces, or after the act it reports."""

    INTENDED = "intended"  # manifest written; the rename may or may not have happened
    RENAMED = "renamed"  # in quarantine, both parents fsynced; not yet looked at again
    QUARANTINED = "quarantined"  # the second look was clear
    KEPT = "kept"  # busy in quarantine and the old path is occupied: never expires
    RESTORE_INTENDED = "restore_intended"
    RESTORED = "restored"  # back at a live path
    PURGE_INTENDED = "purge_intended"  # cleared for purge; `.purging` rename may or may not have happened
    PURGING = "purging"  # renamed to `.purging`: from here only completion
    PURGED = "purged"
    ABANDONED = "abandoned"  # intended, never renamed
    LOST = "lost"  # a person confirmed: neither in quarantine nor at its old path, and no act of ours removed it


FINISHED = frozenset({JournalEvent.RESTORED, JournalEvent.PURGED, JournalEvent.ABANDONED, JournalEvent.LOST})
"""The ends of an operation: nothing of it is in quarantine any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRecord:
    """One operation as found on disk: its last journal event and where the bytes are.

    `original` and `placed` are relative to the root. `at_original`, `in_quarantine`, `in_purging` say what is there
    now; `original_matches` and `quarantine_matches` whether it is the recorded inode (None: nothing there, or not
    comparable). `catalog_id` is the lineage id of the catalog that ordered it. What `was_kept` can only be restored.
    """

    operation: str
    event: JournalEvent
    at: datetime
    original: bytes
    placed: bytes
    identity: FileIdentity
    fingerprint: str
    name: str
    allocated_bytes: int
    catalog_id: str
    at_original: bool
    original_matches: bool | None
    in_quarantine: bool
    quarantine_matches: bool | None
    in_purging: bool
    manifest_intact: bool
    restored_to: bytes = b""
    was_kept: bool = False


class StepOutcome(StrEnum):
    """How one step of a plan ended (cli.md, `apply --json`)."""

    QUARANTINED = "quarantined"
    PURGED = "purged"
    RESTORED = "restored"
    REFUSED = "refused"
    BUSY_RESTORED = "busy_restored"
    BUSY_KEPT = "busy_kept"
    ALREADY_ABSENT = "already_absent"
    FAILED = "failed"
