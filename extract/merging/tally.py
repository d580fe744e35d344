"""What became of each record of each source; the numbers reconcile or the merge is not written."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class Drop(StrEnum):
    """Why a record is not in the corpus."""

    UNREADABLE = "unreadable"
    """It is no JSON object, in no known form, or its chat template refuses it."""
    EMPTY = "empty"
    """Nobody says anything in it."""
    SPANS_UNCLEAR = "spans_unclear"
    """Which tokens the assistant produced cannot be told."""
    TOO_SHORT = "too_short"
    """It has fewer tokens than were asked for."""
    NOTHING_LEARNED = "nothing_learned"
    """No token of the assistant is left (after truncation)."""
    DUPLICATE = "duplicate"
    """A record before it, by source and line, has the same token ids and loss mask."""
    DUPLICATE_OTHER_MASK = "duplicate_other_mask"
    """A record before it has the same token ids, and another loss mask."""


@dataclass(slots=True)
class Tally:
    """The numbers of one source. `truncated` counts kept records that were cut to the longest length."""

    read: int = 0
    kept: int = 0
    truncated: int = 0
    dropped: Counter[Drop] = field(default_factory=Counter)

    @property
    def reconciles(self) -> bool:
        """Whether every record that was read was kept or dropped for a reason."""
        return self.read == self.kept + self.dropped.total()
