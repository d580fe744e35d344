"""Sizes, durations, token counts and layer lists as people type them, read exactly or refused.

A number without its unit is refused where the unit changes the meaning (bytes, time, shares); counts of tokens and
parameters may stand bare. Arithmetic is exact (`Fraction`), so `87.8M` tokens are 87,800,000 and not one fewer.
Every refusal is a `UsageError` that shows what was typed and what to type instead.
"""

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from artifactctl.domain.errors import UsageError

LARGEST_COUNT = 2**63 - 1
"""Bytes, tokens and parameters must fit the catalog's 64-bit integers."""

LONGEST_DURATION = timedelta(days=36_525)

_NUMBER = r"[0-9]{1,24}(?:\.[0-9]{1,24})?"
_NUMBER_AND_UNIT = re.compile(rf"({_NUMBER}) ?([A-Za-z]*)")
_DURATION_PART = re.compile(rf"({_NUMBER})([A-Za-z]+)")
_PERCENT = re.compile(rf"({_NUMBER}) ?%")
_LAYER = re.compile(r"[0-9]{1,4}")

_PREFIXES = ("K", "M", "G", "T", "P", "E")
_SIZE_UNITS = {
    "B": 1,
    "kB": 1000,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(_PREFIXES, 1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(_PREFIXES, 1)},
}
_ACCEPTED_SIZE_UNITS = {
    spelling: factor for unit, factor in _SIZE_UNITS.items() for spelling in (unit, unit.lower(), unit.upper())
}

_DURATION_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "min": 60, "s": 1}
_CALENDAR_UNITS = {"mo", "mon", "month", "months", "y", "yr", "year", "years", "M", "Y"}

_COUNT_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def parse_size(text: str) -> int:
    """Return the bytes of `924GiB`, `1.5TB`, `512 MiB` or `0B`, rounded to the nearest byte."""
    number, unit = _number_and_unit(text, what="size", example="924GiB")
    if not unit:
        raise UsageError(
            f"the size `{text}` has no unit", remedy=f"write {number}GiB (2^30 bytes) or {number}GB (10^9 bytes)"
        )
    if unit not in _ACCEPTED_SIZE_UNITS:
        raise _bad_size_unit(text, number, unit)
    if unit in ("B", "b") and "." in number:
        raise UsageError(f"`{text}` is not a whole number of bytes", remedy="write whole bytes, such as 512B")
    return _bounded(round(Fraction(number) * _ACCEPTED_SIZE_UNITS[unit]), text, what="size")


def parse_duration(text: str) -> timedelta:
    """Return the duration of `72h`, `14d`, `1d12h`, `15m`, `90s` or `1w`; units descend and occur once."""
    stripped = _plain(text, what="duration", example="72h")
    parts = _DURATION_PART.findall(stripped)
    if re.fullmatch(_NUMBER, stripped):
        raise UsageError(f"the duration `{text}` has no unit", remedy=f"write {stripped}m, {stripped}h or {stripped}d")
    if not parts or "".join(number + unit for number, unit in parts) != stripped:
        raise UsageError(f"`{text}` is not a duration", remedy="write it like 72h, 14d, 1d12h, 15m or 90s")
    seconds = Fraction(0)
    smallest: int | None = None
    for number, unit in parts:
        factor = _seconds_of(unit, number=number, text=text)
        if smallest is not None and factor >= smallest:
            raise UsageError(
                f"the units of `{text}` repeat or do not descend", remedy="write the larger unit first, such as 1d12h"
            )
        smallest = factor
        seconds += Fraction(number) * factor
    if seconds > LONGEST_DURATION.total_seconds():
        raise UsageError(f"the duration `{text}` is longer than a hundred years", remedy="write a shorter one")
    return timedelta(microseconds=round(seconds * 1_000_000))


def parse_tokens(text: str) -> int:
    """Return the token count of `87.8M`, `23070000`, `1.2B` or `10k` (powers of ten)."""
    return _parse_count(text, what="token count", example="87.8M")


def parse_parameters(text: str) -> int:
    """Return the parameter count of `2.6B`; at least one."""
    count = _parse_count(text, what="parameter count", example="2.6B")
    if count == 0:
        raise UsageError("a model has at least one parameter", remedy="write the parameter count like 2.6B")
    return count


def parse_percent(text: str) -> Decimal:
    """Return the share, 0 to 1, of `98.3%` exactly."""
    stripped = _plain(text, what="share", example="98.3%")
    match = _PERCENT.fullmatch(stripped)
    if match is None:
        hint = f"write {stripped}%" if re.fullmatch(_NUMBER, stripped) else "write it like 98.3%"
        raise UsageError(f"`{text}` is not a percentage", remedy=hint)
    share = Decimal(match[1]) / 100
    if share > 1:
        raise UsageError(f"`{text}` is more than the whole", remedy="write a percentage from 0% to 100%")
    return share


def parse_rate(text: str) -> int:
    """Return the bytes per second of `200MiB/s`; more than nothing."""
    stripped = _plain(text, what="rate", example="200MiB/s")
    if not stripped.endswith("/s"):
        raise UsageError(f"`{text}` is not a rate in bytes per second", remedy="write it like 200MiB/s")
    bytes_per_second = parse_size(stripped.removesuffix("/s").rstrip(" "))
    if bytes_per_second == 0:
        raise UsageError(f"the rate `{text}` would never get anywhere", remedy="write a rate above 0B/s")
    return bytes_per_second


def parse_layers(text: str) -> tuple[int, ...]:
    """Return the hidden-state boundaries of `2,30,58` ascending (0 the embeddings, i the output of block i-1)."""
    stripped = _plain(text, what="list of layers", example="2,30,58")
    names = [name.strip(" ") for name in stripped.split(",")]
    for name in names:
        if _LAYER.fullmatch(name) is None:
            raise UsageError(
                f"`{name}` in `{text}` is not a layer", remedy="write layers as whole numbers from 0: 2,30,58"
            )
    layers = sorted(int(name) for name in names)
    if len(set(layers)) != len(layers):
        raise UsageError(f"a layer occurs twice in `{text}`", remedy="name each layer once, such as 2,30,58")
    return tuple(layers)


def _parse_count(text: str, *, what: str, example: str) -> int:
    number, unit = _number_and_unit(text, what=what, example=example)
    if unit.lower() not in _COUNT_UNITS:
        meant = "; a billion is B" if unit.lower() in ("g", "bn") else ""
        raise UsageError(
            f"`{unit}` in the {what} `{text}` is not k, M, B or T{meant}", remedy=f"write it like {example}"
        )
    count = Fraction(number) * _COUNT_UNITS[unit.lower()]
    if count.denominator != 1:
        raise UsageError(f"the {what} `{text}` is not a whole number", remedy=f"write it like {example}")
    return _bounded(int(count), text, what=what)


def _number_and_unit(text: str, *, what: str, example: str) -> tuple[str, str]:
    match = _NUMBER_AND_UNIT.fullmatch(_plain(text, what=what, example=example))
    if match is None:
        raise UsageError(f"`{text}` is not a {what}", remedy=f"write it like {example}, without signs or separators")
    return match[1], match[2]


def _plain(text: str, *, what: str, example: str) -> str:
    """Return `text` without surrounding spaces; other white space is refused, since it is seldom meant."""
    stripped = text.strip(" ")
    if not stripped:
        raise UsageError(f"the {what} is empty", remedy=f"write it like {example}")
    if stripped.startswith("-"):
        raise UsageError(f"the {what} `{text}` is negative", remedy=f"write it like {example}")
    return stripped


def _bad_size_unit(text: str, number: str, unit: str) -> UsageError:
    letter = unit[0].upper()
    if letter in _PREFIXES and unit[1:].lower() in ("", "i"):
        return UsageError(
            f"`{unit}` in `{text}` can mean powers of 1024 or of 1000",
            remedy=f"write {number}{letter}iB or {number}{letter}B",
        )
    if letter in _PREFIXES and unit.lower() in {known.lower() for known in _SIZE_UNITS} | {f"{letter.lower()}bit"}:
        return UsageError(
            f"`{unit}` in `{text}` reads as bits", remedy=f"write bytes: {number}{letter}iB or {number}{letter}B"
        )
    return UsageError(f"`{unit}` in `{text}` is not a unit of size", remedy=f"write {number}GiB or {number}GB")


def _seconds_of(unit: str, *, number: str, text: str) -> int:
    if unit in _DURATION_UNITS:
        return _DURATION_UNITS[unit]
    if unit in _CALENDAR_UNITS or unit.lower() in _CALENDAR_UNITS:
        raise UsageError(
            f"`{unit}` in `{text}` has no fixed length",
            remedy="write days (30d, 365d); minutes are a small m",
        )
    if unit.lower() in _DURATION_UNITS:
        raise UsageError(f"`{unit}` in `{text}` is not a unit of time", remedy=f"write {number}{unit.lower()}")
    raise UsageError(f"`{unit}` in `{text}` is not a unit of time", remedy="use w, d, h, m (minutes) or s")


def _bounded(count: int, text: str, *, what: str) -> int:
    if count > LARGEST_COUNT:
        raise UsageError(f"the {what} `{text}` is larger than 2^63", remedy="check the unit")
    return count
