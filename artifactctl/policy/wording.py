"""How a decision spells durations, lists and groups in its sentence."""

from collections.abc import Iterable
from datetime import timedelta

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def spell_duration(duration: timedelta) -> str:
    """Return `14d`, `1d12h`, `90m` as `1h30m`: what a policy file would say; whole seconds, the sign left out."""
    left = abs(duration) // timedelta(seconds=1)
    parts = []
    for seconds, unit in _UNITS:
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def either(words: Iterable[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *front, last = words
    return f"{', '.join(front)} or {last}" if front else last


def spell_group(group_by: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Return `run r1, kind checkpoint`: what the members of a group have in common."""
    return ", ".join(f"{field} {value}" for field, value in zip(group_by, values, strict=True))
