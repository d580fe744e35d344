"""A clock that only tests move."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def as_nanoseconds(instant: datetime) -> int:
    """Return nanoseconds since 1970, exact to the microsecond."""
    return (instant - EPOCH) // timedelta(microseconds=1) * 1000


def as_instant(nanoseconds: int) -> datetime:
    """Return the instant as aware UTC, cut to microseconds."""
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


@dataclass(slots=True)
class FakeClock:
    """Stands still until moved; `stamp` gives every change of an inode its own nanosecond, as no two are the same."""

    nanoseconds: int = as_nanoseconds(NOON)
    up_nanoseconds: int = 3600 * 10**9

    @property
    def now(self) -> datetime:
        """The machine's time."""
        return as_instant(self.nanoseconds)

    def stamp(self) -> int:
        """Return a timestamp that was never given before."""
        self.nanoseconds += 1
        return self.nanoseconds

    def advance(self, duration: timedelta) -> None:
        """Let time pass (a negative duration sets the clock back)."""
        self.set_ahead(duration)
        self.up_nanoseconds += max(duration // timedelta(microseconds=1) * 1000, 0)

    def set_ahead(self, duration: timedelta) -> None:
        """Set the clock; no time passes."""
        self.nanoseconds += duration // timedelta(microseconds=1) * 1000
