"""Why du, df and a subtraction disagree by one, to the byte."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from artifactctl.report.sizes import format_bytes, format_bytes_as_du


def used_bytes_of(volume: Path) -> int:
    """Return what df calls used, in bytes, once the filesystem has finished what it was doing."""
    os.sync()
    usage = os.statvfs(volume)
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


def bytes_as_du_counts(path: Path) -> int:
    """Return what `du -s` calls the size of a folder, in bytes."""
    counted = subprocess.run(("du", "-sB1", str(path)), capture_output=True, text=True, check=True)
    return int(counted.stdout.split()[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning:
    """A volume before and after a removal. `removed_bytes` is what du counted for what was removed."""

    used_before_bytes: int
    removed_bytes: int
    used_now_bytes: int

    def lines(self) -> tuple[str, ...]:
        """Return the sum by hand, what df says instead, and the same in bytes."""
        before, removed, now = (
            format_bytes_as_du(size) for size in (self.used_before_bytes, self.removed_bytes, self.used_now_bytes)
        )
        by_hand = _whole(before) - _whole(removed)
        figures = (
            ("used before", self.used_before_bytes, f"df prints {before}"),
            ("hidden states", self.removed_bytes, f"du prints {removed}"),
            ("used now", self.used_now_bytes, f"df prints {now}"),
        )
        width = max(len(f"{size:,}") for _, size, _ in figures)
        return (
            f"By hand, {_whole(before)}G less {removed} is {by_hand}G, and df says {now}. "
            + ("To the byte:" if by_hand != _whole(now) else "It agrees; to the byte:"),
            "",
            *(f"  {name:<13}  {size:>{width},} bytes   {printed}" for name, size, printed in figures),
            "",
            *self._explanation(is_off=by_hand != _whole(now)),
        )

    def _explanation(self, *, is_off: bool) -> tuple[str, ...]:
        rounding = ("du and df each round up to whole GiB, which makes the difference of one.",) if is_off else ()
        residue = self.used_before_bytes - self.removed_bytes - self.used_now_bytes
        if residue == 0:
            return (*rounding, "No byte is missing.")
        side = "more" if residue > 0 else "less"
        return (
            *rounding,
            f"{format_bytes(abs(residue))} {side} came free than the files held: the filesystem's own bookkeeping.",
        )


def _whole(printed: str) -> int:
    return int(printed.rstrip("G"))
