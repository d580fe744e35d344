"""Progress on stderr: a bar with rate and time left on a terminal, else a line a minute; nothing for quick work."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from artifactctl.cli.failures import tell
from artifactctl.report.sizes import format_bytes, format_duration

QUIET_SECONDS = 1.0
LINE_EVERY_SECONDS = 60.0


class Progress:
    """The display of one piece of work; `total` None when its size is not known beforehand."""

    def __init__(
        self,
        *,
        total: int | None,
        unit: str,
        label: str,
        drawn: bool,
        elapsed_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._unit = unit
        self._label = label
        self._drawn = drawn
        self._clock = elapsed_clock
        self._began = elapsed_clock()
        self._last_line = self._began
        self._done = 0
        self._bar: Any = None
        self._task: Any = None
        self._one_at_a_time = threading.Lock()

    def advance(self, amount: int) -> None:
        """Count `amount` more as done; several machines may be worked on at the same time."""
        with self._one_at_a_time:
            self._done += amount
            now = self._clock()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)
            elif self._drawn and now - self._began >= QUIET_SECONDS:
                self._start_bar()
            elif not self._drawn and now - self._last_line >= LINE_EVERY_SECONDS:
                self._last_line = now
                tell(self.line(now))

    def line(self, now: float) -> str:
        """Return the state in one line: how much of how much, rate, time left."""
        rate = self._done / max(now - self._began, 1e-9)
        of_total = f" of {self._amount(self._total)}" if self._total is not None else ""
        left = ""
        if self._total is not None and rate > 0:
            left = f", {format_duration(timedelta(seconds=max(self._total - self._done, 0) / rate))} left"
        return f"{self._label}: {self._amount(self._done)}{of_total}, {self._amount(int(rate))}/s{left}"

    def close(self) -> None:
        """Take the display away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _amount(self, count: int) -> str:
        if self._unit != "bytes":
            return f"{count:,} {self._unit}"
        return format_bytes(count)

    def _start_bar(self) -> None:
        from rich import progress as drawing
        from rich.console import Console

        counted: list[drawing.ProgressColumn] = [drawing.MofNCompleteColumn(), drawing.TextColumn(self._unit)]
        if self._unit == "bytes":
            counted = [drawing.DownloadColumn(binary_units=True), drawing.TransferSpeedColumn()]
        self._bar = drawing.Progress(
            drawing.TextColumn("{task.description}"),
            drawing.BarColumn(),
            *counted,
            drawing.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._label, total=self._total, completed=self._done)
