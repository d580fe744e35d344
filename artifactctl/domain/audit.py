"""What happened, who did it, on what evidence: one entry of the audit chain, before and after it was chained."""

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias


class AuditAction(StrEnum):
    """Every act that the chain tells of, as `noun.verb`; nothing else is ever written.

    What was announced and not yet done ends in `.begin`; the same operation has a second event for how it ended.
    """

    CATALOG_CREATE = "catalog.create"  # a new catalog was made
    CATALOG_UPGRADE = "catalog.upgrade"  # an older catalog was brought to this version
    CATALOG_BACKUP = "catalog.backup"  # a copy of the whole catalog was written
    CATALOG_RESTORE = "catalog.restore"  # a backup took the catalog's place
    CATALOG_MOVE = "catalog.move"  # it was copied whole to another place, and takes no more changes here
    CATALOG_COPY = "catalog.copy"  # it came whole from another place
    CATALOG_CONFIRM = "catalog.confirm"  # a person vouched for the lineage of a rebuilt catalog
    CATALOG_RAISE_EPOCH = "catalog.raise_epoch"  # a person let a restored catalog act on a root again
    HOST_ADD = "host.add"  # another machine is known from now on, by the key that it proved to have
    HOST_FORGET = "host.forget"  # it is not worked with any more; its record stays
    ROOT_ADD = "root.add"  # a folder is managed from now on
    ROOT_ATTEST = "root.attest"  # a person said who else has files open there
    ROOT_WITHDRAW = "root.withdraw"  # what was said about that was taken back
    ROOT_TAKE_OVER = "root.take_over"  # the right to change it was taken from somebody who had not given it back
    ROOT_FORGET = "root.forget"  # a folder is no longer managed; its bytes stay
    ARTIFACT_ANNOUNCE = "artifact.announce"  # a program said what it is about to write
    ARTIFACT_REGISTER = "artifact.register"  # a scan or a person recorded a new artifact
    ARTIFACT_RESTATE = "artifact.restate"  # a person said again what it is
    ARTIFACT_GROW = "artifact.grow"  # a scan found more of an unfinished one
    ARTIFACT_REOPEN = "artifact.reopen"  # a program makes some of it again: it was lost, or can be had by now
    ARTIFACT_SEAL = "artifact.seal"  # its writer said that it is complete
    ARTIFACT_ACCEPT_DRIFT = "artifact.accept_drift"  # a person let the catalog follow what is on disk
    ARTIFACT_MISSING = "artifact.missing"  # a scan did not find a copy at its path
    ARTIFACT_FOUND_AGAIN = "artifact.found_again"  # a missing copy is at its path again
    ARTIFACT_SUPERSEDE = "artifact.supersede"  # another one takes its place
    ARTIFACT_MEASURE = "artifact.measure"  # numbers about it were recorded
    ARTIFACT_VERIFY = "artifact.verify"  # a copy was found whole
    ARTIFACT_VERIFY_FAILED = "artifact.verify_failed"  # a copy was found not whole, or not what was declared
    LINEAGE_LINK = "lineage.link"  # what it was made from was recorded
    RUN_START = "run.start"  # a stage has begun
    RUN_FINISH = "run.finish"  # a stage has ended, well or not
    RUN_RECORD = "run.record"  # the run that made it was recorded
    HOLD_ADD = "hold.add"  # it is kept until somebody lets go
    HOLD_RELEASE = "hold.release"  # somebody let go
    HOLD_FOUND_AGAIN = "hold.found_again"  # a hold that the root knew and the catalog did not was placed again
    HOLD_WITHOUT_OBJECT = "hold.without_object"  # such a hold, and nothing that it covered is there
    LEASE_GRANT = "lease.grant"  # it is in use
    LEASE_RELEASE = "lease.release"  # it is no longer in use
    LEASE_BREAK = "lease.break"  # the holder was proven to be gone
    RESERVATION_MAKE = "reservation.make"  # room on a volume was promised
    RESERVATION_RELEASE = "reservation.release"  # the promise is over
    ROLE_GRANT = "role.grant"  # somebody may do more from now on
    ROLE_REVOKE = "role.revoke"  # somebody may do less from now on
    ROLE_REFUSED = "role.refused"  # somebody asked for what takes a role they do not have
    PLAN_RECORD = "plan.record"  # a person put their name to a plan
    PLAN_APPROVE = "plan.approve"  # a person approved a plan by its digest
    PLAN_APPROVE_REFUSED = "plan.approve_refused"  # its planner tried to, where somebody else must
    QUARANTINE_BEGIN = "quarantine.begin"  # cleared for being set aside; nothing has moved yet
    QUARANTINE_DONE = "quarantine.done"  # set aside, looked at again, and kept there
    QUARANTINE_ABANDON = "quarantine.abandon"  # given up before anything moved
    QUARANTINE_PUT_BACK = "quarantine.put_back"  # the second look found a user or a change: it is back
    QUARANTINE_KEEP = "quarantine.keep"  # the same, but its old path was taken: it stays and never expires
    RESTORE_BEGIN = "restore.begin"  # it is about to be put back
    RESTORE_DONE = "restore.done"  # it is live again
    RESTORE_REFUSED = "restore.refused"  # the place was not free: it stays in quarantine
    PURGE_BEGIN = "purge.begin"  # cleared for good; from here only completion
    PURGE_DONE = "purge.done"  # its bytes are gone
    ARCHIVE_BEGIN = "archive.begin"  # a copy of it is about to be made somewhere else
    ARCHIVE_DONE = "archive.done"  # the copy was read back, is the same, and counts from now on
    ARCHIVE_ABANDON = "archive.abandon"  # what was written of a copy was taken away again
    ARCHIVE_REMOVE_BEGIN = "archive.remove_begin"  # a finished copy in a store counts for nothing from here on
    ARCHIVE_REMOVE = "archive.remove"  # its objects are gone from the store
    RECOVER_QUARANTINE = "recover.quarantine"  # an interrupted operation ended in quarantine
    RECOVER_KEEP = "recover.keep"  # the same, and its old path is taken
    RECOVER_RESTORE = "recover.restore"  # an interrupted operation ended at a live path
    RECOVER_PURGE = "recover.purge"  # an interrupted purge was completed
    RECOVER_LOST = "recover.lost"  # a person confirmed that what was set aside has vanished: its copy is missing
    RECOVER_ABANDON = "recover.abandon"  # an interrupted operation had moved nothing
    OPERATION_IMPORT = "operation.import"  # an operation that only the root's journal knew was taken over


_DID_NOT_COME_ABOUT = (".begin", ".abandon", ".put_back", ".keep", ".refused", "_failed")


def came_about(action: str) -> bool:
    """Whether the action tells of something that was done, not of an intention, a refusal or a failure."""
    return not action.endswith(_DID_NOT_COME_ABOUT)


JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What JSON can hold; numbers are finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act as its author reports it. `at` is aware UTC; `path` is absolute on `host`; `bytes` is what it concerned.

    `artifact` is the name at that time. An entry that concerns no artifact, operation or policy leaves "" there.
    `action` is an `AuditAction`; only what a newer version wrote is read back as the text it is.
    """

    at: datetime
    actor: str
    host: str
    action: str
    artifact: str = ""
    path: builtins.bytes | None = None
    bytes: int | None = None
    reason: str = ""
    operation: str = ""
    policy_digest: str = ""
    evidence: JsonValue = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("an audit entry needs an aware instant")
        if not self.action or not self.actor:
            raise ValueError("an audit entry names its action and its actor")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An entry in the chain: numbers start at 1 without gaps, hashes are SHA-256 in hex.

    `hash` is over the exact stored text, which holds the number, the entry and `previous_hash` ("" for the first).
    """

    event_id: int
    entry: AuditEntry
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """The result of walking the whole chain. `events` counts what was sound, `problem` says where it first was not.

    `head` is the hash of the last sound event. Kept elsewhere, it proves later that nobody rewrote the whole chain.
    """

    ok: bool
    events: int
    head: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The newest event of the chain: its hash ("" before the first) and how many events there are."""

    events: int
    hash: str
