"""What to do with a copy that did not come to its end: a pure table from its folder and the catalog to one action.

Nothing that is not complete ever becomes live, and what is in its place already is never removed.
"""

from enum import StrEnum

from artifactctl.domain.artifacts import ReplicaState
from artifactctl.hosts.copies import CopyState


class CopyAction(StrEnum):
    """The one thing that `doctor --repair` does."""

    LEAVE = "leave"  # somebody is writing to it, or nothing is to be done
    REMOVE = "remove"  # take away what was written of it
    FINISH = "finish"  # it is complete: put it in its place, then record it
    RECORD = "record"  # it is in its place, and only the catalog has yet to say so
    TIDY = "tidy"  # it is in its place and recorded: only its folder is left
    CALL_MISSING = "call_missing"  # it was complete and has been moved away since


def decide_copy(state: CopyState, known: ReplicaState | None, *, is_being_written: bool) -> CopyAction:
    """Return what to do; `known` is the state of the replica at its place in the catalog, None where it has none."""
    if is_being_written:
        return CopyAction.LEAVE
    if state in (CopyState.EMPTY, CopyState.OVER, CopyState.BEGUN):
        return CopyAction.REMOVE
    is_expected = known is ReplicaState.ARCHIVING
    if state is CopyState.COMPLETE:
        return CopyAction.FINISH if is_expected else CopyAction.REMOVE
    if state is CopyState.PLACED:
        return CopyAction.RECORD if is_expected else CopyAction.TIDY
    return CopyAction.CALL_MISSING if is_expected else CopyAction.TIDY
