"""Safety limits: files set them, flags and the environment may only make them stricter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_duration, parse_size


class LimitLoosened(UsageError):
    """A flag or a variable asked for less safety than the configuration grants."""


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"`{text}` is not a whole number", remedy="write a number such as 500")
    return int(text)


LIMIT_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "quiet_time": parse_duration,
    "grace": parse_duration,
    "max_bytes": parse_size,
    "max_artifacts": _parse_count,
}
"""How each limit is read from text."""

_STRICTER_IS_SMALLER = frozenset({"max_bytes", "max_artifacts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyLimits:
    """How long nothing may have changed, how long a quarantine lasts, and how much one run may remove."""

    quiet_time: timedelta = timedelta(minutes=15)
    grace: timedelta = timedelta(days=7)
    max_bytes: int = 20 * 2**40
    max_artifacts: int = 500

    def tightened(self, name: str, text: str, *, source: str) -> "SafetyLimits":
        """Return the limits with one made stricter; `source` is the flag or variable that says `text`."""
        wanted = read_limit(name, text, place=source)
        present = getattr(self, name)
        looser = wanted > present if name in _STRICTER_IS_SMALLER else wanted < present
        if looser:
            raise LimitLoosened(
                f"{source} asks for {name} {text}, which is looser than the configured limit",
                remedy=f"safety limits can only be tightened here; change {name} under [policy] in artifactctl.toml",
            )
        return replace(self, **{name: wanted})


def read_limit(name: str, text: str, *, place: str) -> Any:
    """Return the value of a limit; the error names the place it stands in."""
    try:
        return LIMIT_PARSERS[name](text)
    except UsageError as error:
        raise UsageError(f"{place}: {name}: {error.message}", remedy=error.remedy) from error
