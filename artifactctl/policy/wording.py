"""How a decision spells ages, lists and groups in its sentence."""

from collections.abc import Iterable
from datetime import timedelta

from artifactctl.policy.spelling import duration_text

_DAY, _HOUR, _MINUTE, _SECOND = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)


def spell_duration(duration: timedelta) -> str:
    """Return `13d1h`, `3h20m`, `5m`: two units, rounded down; `duration_text` is exact."""
    step = _HOUR if duration >= _DAY else _MINUTE if duration >= _HOUR else _SECOND
    return duration_text(duration // step * step)


def spell_age(age: timedelta) -> str:
    """Return how old something is; what was created in the future, by this clock, is new."""
    return spell_duration(max(age, timedelta(0)))


def either(words: Iterable[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *front, last = words
    return f"{', '.join(front)} or {last}" if front else last


def spell_group(group_by: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Return `run r1, kind checkpoint`: what the members of a group have in common."""
    return ", ".join(f"{field} {value}" for field, value in zip(group_by, values, strict=True))
