"""The least-regret set: what to give up for a needed number of bytes.

The order of regret, least first, is total and does not depend on the order of the input:

1. what was already set aside (an expired quarantine) before anything that is still in place;
2. superseded before not superseded;
3. cheaper to make again for each byte freed before dearer; a cost that nobody knows is the dearest;
4. older before younger;
5. by name.

The choice, exactly:

a. Take candidates in this order until the need is covered.
b. The last one taken may have equals, that is untaken candidates alike in rules 1 to 3. Of it and those equals that
   also cover what the others leave open, the one that frees the least is taken: smallest overshoot (ties: the order).
c. From the most regretted to the least, drop every member that the rest can do without.

Where all candidates together do not cover the need, nothing is chosen: giving up artifacts would not help.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

RegretClass = tuple[bool, bool, bool, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimCandidate:
    """Something that could be given up. `freed_bytes` is what its removal frees, `allocated_bytes` what it occupies.

    `regenerate_cost` is GPU hours, None if nobody knows. `available_at` is when the bytes would really be free, None
    for at once. `relieves` names the bounds that its removal widens (a quota only where its files are charged to it).
    """

    name: str
    freed_bytes: int
    superseded: bool
    regenerate_cost: float | None
    created_at: datetime
    available_at: datetime | None = None
    set_aside: bool = False
    allocated_bytes: int | None = None
    freed_files: int = 0
    relieves: tuple[str, ...] = ("filesystem", "inodes")

    def __post_init__(self) -> None:
        if self.regenerate_cost is not None and not (isfinite(self.regenerate_cost) and self.regenerate_cost >= 0):
            raise ValueError(f"`{self.name}` cannot cost {self.regenerate_cost} GPU hours to make again")

    @property
    def occupied_bytes(self) -> int:
        """Bytes on disk, which removal may free only in part."""
        return self.freed_bytes if self.allocated_bytes is None else self.allocated_bytes

    @property
    def regret_class(self) -> RegretClass:
        """Rules 1 to 3 of the order; candidates of one class are equally easy to give up."""
        cost_unknown = self.regenerate_cost is None
        per_byte = (self.regenerate_cost or 0.0) / max(1, self.freed_bytes)
        return (not self.set_aside, not self.superseded, cost_unknown, per_byte)

    @property
    def regret(self) -> tuple[RegretClass, datetime, str]:
        """The sort key of the whole order."""
        return (self.regret_class, self.created_at, self.name)


Amount = Callable[[ReclaimCandidate], int]
"""What of a candidate counts towards a need."""


def freed_bytes_of(candidate: ReclaimCandidate) -> int:
    """Return the bytes that the candidate frees."""
    return candidate.freed_bytes


def freed_files_of(candidate: ReclaimCandidate) -> int:
    """Return the inodes that the candidate frees."""
    return candidate.freed_files


def least_regret(
    candidates: Iterable[ReclaimCandidate],
    *,
    needed: int,
    amount: Amount = freed_bytes_of,
) -> tuple[ReclaimCandidate, ...]:
    """Return the candidates to give up so that `amount` of them adds up to `needed`, least regretted first.

    Empty when nothing is needed, and when all together would not be enough.
    """
    usable = sorted((entry for entry in candidates if amount(entry) > 0), key=lambda entry: entry.regret)
    if needed <= 0 or sum(amount(entry) for entry in usable) < needed:
        return ()
    taken: list[ReclaimCandidate] = []
    open_amount = needed
    for entry in usable:
        if amount(entry) >= open_amount:
            taken.append(_smallest_equal(usable[len(taken) :], open_amount, amount))
            break
        taken.append(entry)
        open_amount -= amount(entry)
    return without_superfluous(taken, needs=((amount, needed),))


def without_superfluous(
    chosen: Iterable[ReclaimCandidate], *, needs: Sequence[tuple[Amount, int]]
) -> tuple[ReclaimCandidate, ...]:
    """Return `chosen` in the order of regret without the members that the rest can do without.

    `needs` pairs what is counted with how much of it the rest must add up to.
    """
    ordered = sorted(chosen, key=lambda entry: entry.regret)
    spare = [sum(amount(entry) for entry in ordered) - needed for amount, needed in needs]
    kept = []
    for entry in reversed(ordered):
        amounts = [amount(entry) for amount, _ in needs]
        if all(left >= part for left, part in zip(spare, amounts, strict=True)):
            spare = [left - part for left, part in zip(spare, amounts, strict=True)]
        else:
            kept.append(entry)
    return tuple(reversed(kept))


def _smallest_equal(untaken: Sequence[ReclaimCandidate], open_amount: int, amount: Amount) -> ReclaimCandidate:
    """Return, of the first untaken candidate and its equals, the smallest that covers the open amount alone."""
    equals = [
        entry for entry in untaken if entry.regret_class == untaken[0].regret_class and amount(entry) >= open_amount
    ]
    return min(equals, key=lambda entry: (amount(entry), entry.regret))
