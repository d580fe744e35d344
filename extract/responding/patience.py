"""How long to wait before asking again."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_ASKED_WAIT = timedelta(hours=1)
"""A server that asks for more has closed for today: the prompt is a hole, and a later run asks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Exponential back-off with full jitter: before attempt n + 1 anything from nothing to `first` x 2^(n - 1).

    Why full: the requests in flight fail together, and would come back together. `chance` yields 0 to 1.
    """

    attempts: int = 8
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=1)
    chance: Callable[[], float] = random.random

    def wait(self, failed_attempts: int, *, asked: timedelta | None) -> timedelta:
        """Return how long to wait after so many failed attempts; never less than the server asked for."""
        most = min(self.longest, self.first * (1 << min(failed_attempts - 1, 30)))
        return most * self.chance() + (asked or timedelta(0))


def retry_after(header: str | None, *, now: datetime) -> timedelta | None:
    """Return the wait that a Retry-After header asks for, in seconds or until an HTTP date; None when it is neither."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:12]), 10**9))
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:  # "-0000": the zone is not known, and HTTP dates are GMT
        until = until.replace(tzinfo=UTC)
    return max(timedelta(0), until - now)
