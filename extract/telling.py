"""What a long run says while it works: lines on stderr, and the same as events in a log."""

import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

_DRAWN_SECONDS, _LOGGED_SECONDS = 0.5, 60.0


class Telling:
    """Lines for a person, and the same as JSON lines in a log: `at`, `event`, and what belongs to it."""

    def __init__(self, clock: Callable[[], datetime], log: Path | None = None) -> None:
        self._clock = clock
        self._log = log
        self._is_drawn = sys.stderr.isatty()
        self._has_line = False

    def say(self, event: str, message: str, **facts: Any) -> None:
        """Say something on stderr and note it."""
        self.clear()
        click.echo(message, err=True)
        self.note(event, message=message, **facts)

    def note(self, event: str, **facts: Any) -> None:
        """Note something in the log only."""
        if self._log is not None:
            line = json.dumps({"at": self._clock().isoformat(), "event": event, **facts})
            with open(self._log, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def draw(self, message: str, **facts: Any) -> None:
        """Show progress: over the last such line on a terminal, as a line of its own elsewhere."""
        click.echo(f"\r{message}\x1b[K" if self._is_drawn else message, nl=not self._is_drawn, err=True)
        self._has_line = self._is_drawn
        self.note("progress", **facts)

    def clear(self) -> None:
        """Take the progress line off a terminal."""
        if self._has_line:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._has_line = False

    @property
    def every_seconds(self) -> float:
        """How often progress is shown."""
        return _DRAWN_SECONDS if self._is_drawn else _LOGGED_SECONDS
