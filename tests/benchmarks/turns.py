"""Something and its yardstick in turns: what the machine does meanwhile falls on both, and the ratio stays."""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Something that is measured: `run` does it once and returns the CPU seconds it took."""

    name: str
    run: Callable[[], float]


def command(name: str, *words: str | os.PathLike[str], **environment: str) -> Contender:
    """Return a contender that is a whole process, its start included."""
    return Contender(name=name, run=lambda: process_seconds(words, environment))


def python(name: str, code: str, *words: str) -> Contender:
    """Return a contender that is a piece of Python in a process of its own."""
    return command(name, sys.executable, "-c", code, *words)


def process_seconds(words: Sequence[str | os.PathLike[str]], environment: dict[str, str]) -> float:
    """Return the CPU seconds of a process; SystemExit when it fails. What it prints on stdout is thrown away."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, **environment}) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{words[:4]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def compare(contender: Contender, yardstick: Contender, *, items: int | None = None, rounds: int = ROUNDS) -> None:
    """Run both in turns and print the medians, the items a second where there are any, and the ratio of each pair."""
    pairs = [(contender.run(), yardstick.run()) for _ in range(rounds)]
    ratios = [ours / theirs for ours, theirs in pairs]
    for side, seconds in zip((contender, yardstick), zip(*pairs, strict=True), strict=True):
        median = statistics.median(seconds)
        speed = f", {items / median:,.0f} a second" if items else ""
        print(f"  {side.name}: {median:.3f} s of CPU{speed}")
    print(f"  ratio: {statistics.median(ratios):.2f}  ({min(ratios):.2f} to {max(ratios):.2f} in {rounds} rounds)")
