"""How guards show names and counts in their one-sentence reasons."""

from collections.abc import Sequence
from datetime import timedelta


def first_of(names: Sequence[str], *, most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `3 files`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def duration_text(duration: timedelta) -> str:
    """Return `45 s`, `12 min` or `23 h 50 min`, rounded up: what is waited for is over then."""
    seconds = -(-duration // timedelta(seconds=1))
    if seconds < 120:
        return f"{seconds} s"
    hours, minutes = divmod(-(-seconds // 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
