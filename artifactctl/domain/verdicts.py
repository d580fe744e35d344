"""What a guard found, and what may follow from it.

Invariant I3: unknown never removes. Invariant I4: a further piece of evidence never makes more removable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Verdict(StrEnum):
    """The answers of a guard; everything but `clear` and `attested` keeps the artifact."""

    CLEAR = "clear"
    ATTESTED = "attested"  # clear as far as everybody was asked whom a statement on record names
    BLOCKED = "blocked"
    UNKNOWN = "unknown"  # we could not look; treated like BLOCKED everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One guard's answer with the facts it rests on.

    `reason` is one sentence for a person. `facts` are key/value pairs for machines, stable between two looks at an
    unchanged world (no times, no rates): they enter the plan's digest. `remedy` is what would change the answer.
    `waived` is set when a person waived this guard by name.
    """

    guard: str
    verdict: Verdict
    reason: str
    facts: tuple[tuple[str, str], ...] = ()
    remedy: str = ""
    waived: bool = False

    @property
    def permits_removal(self) -> bool:
        """Whether this piece of evidence stands in the way of nothing."""
        return self.verdict in (Verdict.CLEAR, Verdict.ATTESTED) or self.waived


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """The proof that every guard was clear for one replica; the only thing the remover accepts.

    It names the identity that was cleared and expires within minutes: a look is only as good as it is fresh.
    """

    operation: str
    replica_id: int
    fingerprint: str
    evidence: tuple[Evidence, ...]
    granted_at: datetime
    expires_at: datetime

    def __post_init__(self) -> None:
        if not may_remove(self.evidence):
            raise ValueError(f"no clearance for replica {self.replica_id}: a guard is not clear")


def may_remove(evidence: Sequence[Evidence]) -> bool:
    """Return whether all evidence permits removal; no evidence at all permits nothing."""
    return bool(evidence) and all(item.permits_removal for item in evidence)
