"""What to do with an unfinished operation: a pure table from what the disk shows to exactly one action.

The root's journal says how far the operation got; where the bytes are now says what survived. Invariant I9: everything
whose purge had not begun ends where it was or restorable, and no half-purged tree is ever live.
"""

from dataclasses import dataclass
from enum import StrEnum

from artifactctl.domain.operations import JournalEvent, OperationRecord


class Action(StrEnum):
    """The one thing to do next."""

    NOTHING = "nothing"  # finished; the catalog is brought in line if it lags
    ABANDON = "abandon"  # the rename never happened: journal that, the artifact is live
    SECOND_LOOK = "second_look"  # set aside, not yet looked at again: look, then keep in quarantine or put back
    BACK_TO_QUARANTINE = "back_to_quarantine"  # purge was announced and had not begun
    FINISH_RESTORE = "finish_restore"  # put back; if the place is occupied it stays in quarantine
    RECORD_RESTORED = "record_restored"  # it is back, only the record is missing
    COMPLETE_PURGE = "complete_purge"  # purge had begun: only completion is left
    GIVE_UP_LOST = "give_up_lost"  # neither here nor there: closed as lost when a person confirms it
    REPORT_FOREIGN = "report_foreign"  # something that is not it lies in its place: a person must look


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The action, and the sentence for `artifactctl doctor`."""

    action: Action
    sentence: str


def decide(record: OperationRecord, *, lags: bool = False) -> Step:
    """Return what to do about one operation; `lags`: its journal knows an end of it that the catalog does not."""
    action = _action(record)
    told = _SENTENCES[action]
    if action is Action.REPORT_FOREIGN and record.event is JournalEvent.LOST and record.quarantine_matches:
        told = "was given up as lost and lies in quarantine again: moved to its old path, a scan finds it"
    if action is Action.NOTHING and lags:
        told = f"is {record.event.value}, and only the catalog has yet to say so"
    return Step(action=action, sentence=f"{record.name} ({record.operation}): {told}")


def _action(record: OperationRecord) -> Action:
    home = record.at_original and record.original_matches is True
    aside = record.in_quarantine and record.quarantine_matches is not False
    event = record.event
    if record.in_purging:
        # The `.purging` name is given only after a durable purge intent: whatever the journal lost, it had begun.
        return Action.COMPLETE_PURGE
    if event in (JournalEvent.INTENDED, JournalEvent.RENAMED):
        return Action.SECOND_LOOK if aside else Action.ABANDON if home else _not_found(record)
    if event in (JournalEvent.QUARANTINED, JournalEvent.KEPT):
        return Action.NOTHING if aside else Action.RECORD_RESTORED if home else _not_found(record)
    if event is JournalEvent.RESTORE_INTENDED:
        return Action.FINISH_RESTORE if aside else Action.RECORD_RESTORED if home else _not_found(record)
    if event in (JournalEvent.PURGE_INTENDED, JournalEvent.PURGING):
        # A purge that finished leaves the `.purging` folder until that is journalled: without it somebody took it away.
        # Even at its old path it may be half purged, so it is found again by a scan, member by member, or not at all.
        return Action.BACK_TO_QUARANTINE if aside else _not_found(record)
    if event is JournalEvent.RESTORED and aside:
        return Action.FINISH_RESTORE
    if event in (JournalEvent.PURGED, JournalEvent.LOST) and record.in_quarantine:
        return Action.REPORT_FOREIGN
    return Action.NOTHING


def _not_found(record: OperationRecord) -> Action:
    """What is not it may not be called lost either: it would be hidden for ever."""
    return Action.REPORT_FOREIGN if record.in_quarantine else Action.GIVE_UP_LOST


_SENTENCES = {
    Action.NOTHING: "finished",
    Action.ABANDON: "was announced and never set aside; it stays where it is",
    Action.SECOND_LOOK: "was set aside and not looked at again; if nobody uses it, it stays in quarantine, "
    "otherwise it is put back",
    Action.BACK_TO_QUARANTINE: "its purge was announced and had not begun; it stays in quarantine",
    Action.FINISH_RESTORE: "its restore was interrupted; it is put back, or stays in quarantine if the place is taken",
    Action.RECORD_RESTORED: "is back at its place; only the record is missing",
    Action.COMPLETE_PURGE: "its purge was interrupted after it had begun; the rest is removed",
    Action.GIVE_UP_LOST: "is neither at its place nor in quarantine: somebody moved or removed it by hand",
    Action.REPORT_FOREIGN: "what lies in its place in quarantine is not it: nothing is done with that",
}
