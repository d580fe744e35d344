"""A clock that stands still until a test moves it; it fits wherever the tool takes `artifactctl.cli.clock.Clock`."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class FixedClock:
    """Time as a test wants it, starting at noon (UTC) of a day of its own."""

    def __init__(self, instant: datetime = NOON) -> None:
        if instant.utcoffset() is None:
            raise ValueError("an instant needs its offset from UTC")
        self._instant = instant.astimezone(UTC)

    def now(self) -> datetime:
        """Return the instant at which the clock stands."""
        return self._instant

    def advance(self, duration: timedelta) -> datetime:
        """Move the clock by `duration` (negative: backwards, as real clocks do) and return the new instant."""
        self._instant += duration
        return self._instant
