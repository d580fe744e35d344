"""The only place that reads the clock; everything below takes the instant as an argument.

There is deliberately no environment variable that moves it: a grace period that a variable can skip is none. Tests hand
their own clock to `Surroundings`.
"""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Something that knows what time it is."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the one place
