"""What to save from a machine that goes away, in which order, and whether there is time for it.

What cannot be had again comes first, then what is dearest to make again for each byte that has to be carried away.
What has a verified copy somewhere else stays behind, and so does what something better takes the place of.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum


class Basis(StrEnum):
    """Where the rate comes from."""

    MEASURED = "measured"
    GIVEN = "given"
    ASSUMED = "assumed"


ASSUMED_BYTES_A_SECOND = 30 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How fast bytes leave the machine; `archives` is how many finished ones a measured rate rests on."""

    bytes_a_second: float
    basis: Basis
    archives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Belonging:
    """One artifact with a live copy on the machine.

    `copies_elsewhere` says where verified copies of it are. `inputs` are what it was made from, None where that makes
    no recipe; `needs` is what it is useless without. `superseded_by` is set when its successor is verified.
    `hours_to_rebuild` is None where nobody recorded what it cost.
    """

    name: str
    kind: str
    path: bytes
    size_bytes: int
    copies_elsewhere: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()
    superseded_by: str = ""
    hours_to_rebuild: float | None = None
    is_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One artifact to be carried away. `is_unique`: nobody could have it again otherwise.

    `done_at` is when it would be verified if everything before it is carried away first, None where that is too late.
    """

    belonging: Belonging
    why: str
    is_unique: bool
    duration: timedelta
    done_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """One artifact that need not be carried away, and why."""

    belonging: Belonging
    why: str


class LeavingVerdict(StrEnum):
    """Whether everything that matters is away in time, the best first."""

    FITS = "fits"
    FITS_WITHOUT_REBUILDABLE = "fits_without_rebuildable"
    DOES_NOT_FIT = "does_not_fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingPlan:
    """The answer for one machine. `savings` in the order in which they should go."""

    host: str
    made_at: datetime
    by: datetime
    rate: Rate
    savings: tuple[Saving, ...]
    left_behind: tuple[LeftBehind, ...]

    @property
    def unique_bytes(self) -> int:
        """The bytes that nobody could have again."""
        return sum(saving.belonging.size_bytes for saving in self.savings if saving.is_unique)

    @property
    def needed_bytes_a_second(self) -> float | None:
        """How fast the bytes that nobody could have again would have to leave; None when the time is over."""
        seconds = (self.by - self.made_at).total_seconds()
        return self.unique_bytes / seconds if seconds > 0 else None

    @property
    def verdict(self) -> LeavingVerdict:
        """Whether what is unique, and whether the rest as well, is away in time."""
        late = [saving for saving in self.savings if saving.done_at is None]
        if not late:
            return LeavingVerdict.FITS
        if any(saving.is_unique for saving in late):
            return LeavingVerdict.DOES_NOT_FIT
        return LeavingVerdict.FITS_WITHOUT_REBUILDABLE


def plan_leaving(
    host: str, belongings: Sequence[Belonging], *, elsewhere: frozenset[str], rate: Rate, by: datetime, now: datetime
) -> LeavingPlan:
    """Return what to save and in which order; `elsewhere` names what lives on other machines, verified or not."""
    sorted_out = _Sorting({item.name: item for item in belongings}, elsewhere)
    left = tuple(
        LeftBehind(belonging=item, why=sorted_out.why_left(item)) for item in belongings if sorted_out.stays(item)
    )
    going = [item for item in belongings if not sorted_out.stays(item)]
    ordered = sorted(going, key=lambda item: _order(item, is_unique=sorted_out.is_unique(item.name)))
    unscheduled = [
        Saving(
            belonging=item,
            why=sorted_out.why_saved(item),
            is_unique=sorted_out.is_unique(item.name),
            duration=timedelta(seconds=item.size_bytes / rate.bytes_a_second),
            done_at=None,
        )
        for item in ordered
    ]
    savings = tuple(_scheduled(unscheduled, by=by, now=now))
    return LeavingPlan(host=host, made_at=now, by=by, rate=rate, savings=savings, left_behind=left)


def _order(item: Belonging, *, is_unique: bool) -> tuple[bool, float, int, str]:
    """Unique first, the small of it before the large; then dear for its size first, an unknown price before all."""
    has_price = item.hours_to_rebuild is not None and not is_unique
    dearness = (item.hours_to_rebuild or 0.0) / max(1, item.size_bytes) if has_price else float("inf")
    return not is_unique, -dearness, item.size_bytes, item.name


def _scheduled(savings: Sequence[Saving], *, by: datetime, now: datetime) -> Iterator[Saving]:
    """Give each its time, one after the other; what would be too late lets the next ones have its time."""
    at = now
    for saving in savings:
        done_at = at + saving.duration
        if done_at > by:
            yield saving
            continue
        at = done_at
        yield replace(saving, done_at=done_at)


class _Sorting:
    """Which of the belongings nobody could have again, and which need not be carried away."""

    def __init__(self, here: Mapping[str, Belonging], elsewhere: frozenset[str]) -> None:
        self._here = here
        self._elsewhere = elsewhere
        self._needed = {
            need: item.name
            for item in here.values()
            if not item.copies_elsewhere and not item.superseded_by
            for need in item.needs
        }
        going = (item for item in here.values() if not item.superseded_by and not item.copies_elsewhere)
        self._counted_on = {name for item in going for name in item.inputs or ()}

    def is_unique(self, name: str) -> bool:
        """Whether what lies here is all there is: no copy, and nothing that it could be built again from."""
        item = self._here[name]
        if item.copies_elsewhere:
            return False
        if item.name in self._needed or item.is_held or item.inputs is None:
            return True
        return not all(self._can_be_had(each) for each in item.inputs)

    def _can_be_had(self, name: str) -> bool:
        """Whether an input is there when this machine is gone: elsewhere, saved from here, or built again itself.

        What is here and unique is saved as well, and what is here and not unique can be built again in turn.
        """
        return name in self._here or name in self._elsewhere

    def stays(self, item: Belonging) -> bool:
        """Whether it need not be carried away at all."""
        if item.copies_elsewhere:
            return True
        wanted = item.name in self._needed or item.name in self._counted_on or item.is_held
        return bool(item.superseded_by) and not wanted

    def why_left(self, item: Belonging) -> str:
        """Return why it may stay behind."""
        if item.copies_elsewhere:
            return f"a verified copy is {item.copies_elsewhere[0]}"
        return f"{item.superseded_by} takes its place"

    def why_saved(self, item: Belonging) -> str:
        """Return why it should go, and why so early or late."""
        if item.is_held:
            return "somebody holds it"
        if item.name in self._needed:
            return f"{self._needed[item.name]} is useless without it"
        if item.inputs is None:
            return "nothing is recorded that it could be built again from"
        lost = [name for name in item.inputs if not self._can_be_had(name)]
        if lost:
            return f"{lost[0]}, from which it was made, is nowhere any more"
        price = "at a price that nobody recorded"
        if item.hours_to_rebuild is not None:
            price = f"in {item.hours_to_rebuild:.1f} hours"
        return f"it could be built again from {item.inputs[0]}, {price}"
