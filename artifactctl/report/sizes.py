"""Byte counts, durations, token counts and rates as people read them: one house form each.

Binary units, with the decimal figure beside them where asked. GiB are kept up to 10 TiB, since the field counts
hidden states in them ("924 GiB", "3,517 GiB") and du prints the same number.
"""

from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_DU_UNITS = ("", "K", "M", "G", "T", "P", "E")
_GIB_POWER = 3
_HUNDREDTH = Decimal("0.01")
_COUNT_STEPS = ((10**12, "T"), (10**9, "B"), (10**6, "M"))


def format_bytes(size_bytes: int) -> str:
    """Return `924.00 GiB`, `12.00 TiB`, `512 B`: binary units, two decimals, thousands grouped."""
    power = _binary_power(size_bytes)
    return _in_unit(size_bytes, base=1024, power=power, unit=_BINARY_UNITS[power])


def format_bytes_both(size_bytes: int) -> str:
    """Return `3,516.77 GiB (3,776.10 GB)`: the binary figure and the decimal one of the same power beside it."""
    power = _binary_power(size_bytes)
    binary = _in_unit(size_bytes, base=1024, power=power, unit=_BINARY_UNITS[power])
    if power == 0:
        return binary
    return f"{binary} ({_in_unit(size_bytes, base=1000, power=power, unit=_DECIMAL_UNITS[power])})"


def format_whole_gib(size_bytes: int) -> str:
    """Return `3,517 GiB`: rounded to the nearest GiB whatever the size."""
    whole = (Decimal(size_bytes) / 1024**_GIB_POWER).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return f"{whole:,} GiB"


def format_bytes_as_du(size_bytes: int) -> str:
    """Return `924G`, `840K`, `3.5T` as `du -h` and `df -h` print it: rounded up, one decimal below ten."""
    power = 0
    while power + 1 < len(_DU_UNITS) and abs(size_bytes) >= 1024 ** (power + 1):
        power += 1
    value = Decimal(size_bytes) / 1024**power
    rounded = _as_du_rounds(value, power)
    if abs(rounded) >= 1024 and power + 1 < len(_DU_UNITS):
        power += 1
        rounded = _as_du_rounds(Decimal(size_bytes) / 1024**power, power)
    return f"{rounded}{_DU_UNITS[power]}"


def format_duration(duration: timedelta) -> str:
    """Return `42 s`, `15 min`, `72.3 h` or, from a hundred hours on, `4 d 4 h` or `7 d`."""
    seconds = duration.total_seconds()
    if seconds < 0:
        return f"-{format_duration(-duration)}"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    if seconds < 360_000:
        return f"{seconds / 3600:.1f} h"
    return format_days(duration)


def format_days(duration: timedelta) -> str:
    """Return `7 d`, `3 d 4 h`: whole days and the nearest hour."""
    if duration < timedelta(0):
        return f"-{format_days(-duration)}"
    days, hours = divmod(round(duration.total_seconds() / 3600), 24)
    return f"{days:,} d {hours} h" if hours else f"{days:,} d"


def format_tokens(tokens: int) -> str:
    """Return `87.8 M`, `23.07 M`, `1.2 B`; below a million every single one: `10,000`. At most two decimals."""
    for step, unit in _COUNT_STEPS:
        if tokens >= step - (step // 200_000 if step > 10**6 else 0):  # what would round to 1,000 of the smaller unit
            scaled = (Decimal(tokens) / step).quantize(_HUNDREDTH, rounding=ROUND_HALF_UP)
            return f"{scaled.normalize():,f} {unit}"
    return f"{tokens:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `3 files`, `2 copies`: a number with its noun, thousands grouped."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_rate(bytes_per_second: float) -> str:
    """Return `200.00 MiB/s`."""
    return f"{format_bytes(round(bytes_per_second))}/s"


def _binary_power(size_bytes: int) -> int:
    power = 0
    while power + 1 < len(_BINARY_UNITS):
        last = 10 * 1024 if power == _GIB_POWER else 1024
        if _scaled(size_bytes, base=1024, power=power) < last:
            break
        power += 1
    return power


def _scaled(size_bytes: int, *, base: int, power: int) -> Decimal:
    return abs(Decimal(size_bytes) / Decimal(base) ** power).quantize(_HUNDREDTH, rounding=ROUND_HALF_UP)


def _in_unit(size_bytes: int, *, base: int, power: int, unit: str) -> str:
    if power == 0:
        return f"{size_bytes:,} {unit}"
    sign = "-" if size_bytes < 0 else ""
    return f"{sign}{_scaled(size_bytes, base=base, power=power):,} {unit}"


def _as_du_rounds(value: Decimal, power: int) -> Decimal:
    tenths = value.quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    if power == 0 or abs(tenths) >= 10:
        return value.quantize(Decimal(1), rounding=ROUND_CEILING)
    return tenths
