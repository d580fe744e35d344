"""Words of the command line that only this stage takes."""

from datetime import timedelta
from decimal import Decimal

import click

from artifactctl.domain.errors import UsageError


class Price(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """US dollars for a million tokens, such as 0.60."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Return the price; UsageError for text that is none."""
        text = str(value)
        if not text.isascii() or not text.replace(".", "", 1).isdigit():
            raise UsageError(f"`{text}` is no price", remedy="write US dollars for a million tokens, such as 0.60")
        return Decimal(text)


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """A duration with its unit, such as 10m."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return the duration, a second at least; UsageError for text that is none."""
        from artifactctl.domain.quantities import parse_duration

        duration = value if isinstance(value, timedelta) else parse_duration(str(value))
        if duration < timedelta(seconds=1):
            raise UsageError(f"`{value}` is no time to wait", remedy="write it like 90s or 10m")
        return duration
