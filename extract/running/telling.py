"""How far an extraction is: rates, time left, free space."""

import os
import time
from datetime import timedelta
from pathlib import Path

from artifactctl.api.wording import format_bytes, format_duration, format_rate, format_tokens
from extract.telling import Telling


class Progress:
    """Rates of this worker, and how far the whole run is; `done` counts what other workers finished as well."""

    def __init__(self, telling: Telling, place: Path, *, tokens: int, row_bytes: int) -> None:
        self._telling = telling
        self._place = place
        self._tokens = tokens
        self._row_bytes = row_bytes
        self._begun = self._shown = time.monotonic()
        self._own_tokens = 0
        self._finished_tokens = self._current_tokens = 0
        self.planned: timedelta | None = None
        self.codec_ratio = 1.0

    @property
    def tokens_per_second(self) -> float:
        """What this worker computed a second, its pauses left out."""
        elapsed = time.monotonic() - self._begun
        return self._own_tokens / elapsed if elapsed > 0 else 0.0

    def leave_out(self, seconds: float) -> None:
        """Do not count a pause."""
        self._begun += seconds

    def finished(self, tokens: int) -> None:
        """Set how many tokens are in finished shards, those of others included."""
        self._finished_tokens, self._current_tokens = tokens, 0

    def add(self, tokens: int) -> None:
        """Count a record."""
        self._own_tokens += tokens
        self._current_tokens += tokens
        now = time.monotonic()
        if now - self._shown >= self._telling.every_seconds:
            self._shown = now
            self._show()

    def _show(self) -> None:
        done = min(self._tokens, self._finished_tokens + self._current_tokens)
        rate = self.tokens_per_second
        left = timedelta(seconds=(self._tokens - done) / rate) if rate else None
        bytes_per_second = rate * self._row_bytes * self.codec_ratio
        space = os.statvfs(self._place)
        free_bytes = space.f_bavail * space.f_frsize
        free_at_end = free_bytes - round((self._tokens - done) * self._row_bytes * self.codec_ratio)
        planned = "" if self.planned is None else f" (planned: {format_duration(self.planned)} in all)"
        ending = f"{format_bytes(free_at_end)} at the end" if free_at_end > 0 else "not enough for the rest"
        self._telling.draw(
            f"extracting: {format_tokens(done)} of {format_tokens(self._tokens)} tokens, {rate:,.0f} tokens/s, "
            f"{format_rate(bytes_per_second)}, {'?' if left is None else format_duration(left)} left{planned}, "
            f"{format_bytes(free_bytes)} free, {ending}",
            tokens=done,
            tokens_in_all=self._tokens,
            tokens_per_second=round(rate, 1),
            bytes_per_second=round(bytes_per_second),
            seconds_left=None if left is None else round(left.total_seconds(), 1),
            free_bytes=free_bytes,
            free_at_end_bytes=free_at_end,
        )
