"""How far a training run is, as a person sees it."""

import os
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from artifactctl.api.wording import format_bytes, format_duration
from extract.telling import Telling
from train.work import Work


class Progress:
    """Rate and time left of this run."""

    def __init__(self, telling: Telling, place: Path, steps: int, first_step: int, work: Work) -> None:
        self._telling = telling
        self._place = place
        self._steps = steps
        self._first_step = first_step
        lengths = [work.outline.tokens[at] for at in work.split.training]
        self._tokens_a_step = work.settings.records_a_step * sum(lengths) / len(lengths)
        self._begun = self._shown = time.monotonic()

    def show(self, step: int, metrics: Mapping[str, float]) -> None:
        """Draw a line when it is time for one."""
        now = time.monotonic()
        if now - self._shown < self._telling.every_seconds:
            return
        self._shown = now
        rate = (step - self._first_step) / (now - self._begun)
        left = timedelta(seconds=(self._steps - step) / rate)
        space = os.statvfs(self._place)
        free_bytes = space.f_bavail * space.f_frsize
        self._telling.draw(
            f"training: step {step:,} of {self._steps:,}, loss {metrics['loss']:.4f}, "
            f"accepted {metrics['accepted']:.2f}, {rate * self._tokens_a_step:,.0f} tokens/s, "
            f"{format_duration(left)} left, {format_bytes(free_bytes)} free",
            step=step,
            tokens_per_second=round(rate * self._tokens_a_step, 1),
            seconds_left=round(left.total_seconds(), 1),
            free_bytes=free_bytes,
        )
