"""Values of the rule set as a policy file writes them, exactly: the way back from `words.py`."""

from datetime import datetime, time, timedelta
from decimal import Decimal

_SIZES = tuple(
    (base**power, f"{prefix}{'iB' if base == 1024 else 'B'}")
    for power, prefix in sorted(enumerate("KMGTPE", 1), reverse=True)
    for base in (1024, 1000)
)
_DURATIONS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000))


def size_text(size_bytes: int) -> str:
    """Return `20TiB`, `1500GB`, `17B`: the largest unit of which it is a whole number."""
    whole = ((size_bytes // factor, unit) for factor, unit in _SIZES if size_bytes and size_bytes % factor == 0)
    count, unit = next(whole, (size_bytes, "B"))
    return f"{count}{unit}"


def duration_text(duration: timedelta) -> str:
    """Return `14d`, `1d12h`, `90.5s`."""
    left = duration // timedelta(microseconds=1)
    parts = []
    for unit, microseconds in _DURATIONS:
        count, left = divmod(left, microseconds)
        if count:
            parts.append(f"{count}{unit}")
    if left or not parts:
        parts.append(f"{Decimal(left) / 1_000_000:f}s")
    return "".join(parts)


def share_text(share: float) -> str:
    """Return `30%`."""
    percent = Decimal(repr(share)) * 100
    return f"{percent.normalize():f}%"


def factor_text(factor: float) -> int | float:
    """Return 3 for 3.0, and 2.5 as it is."""
    return int(factor) if factor.is_integer() else factor


def instant_text(at: datetime) -> str:
    """Return `2027-03-01` for a midnight in UTC, else `2027-03-01T12:00:00Z`."""
    if at.timetz().replace(tzinfo=None) == time.min and not at.utcoffset():
        return at.date().isoformat()
    return at.isoformat().replace("+00:00", "Z")
