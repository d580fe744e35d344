"""Trying breaks: in a copy of the checkout, by the tests that must notice them."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from tests.bench.sandbox import CHECKOUT
from tests.house.sources import tracked_files
from tests.mutants.breaks import Break

LONGEST_SECONDS = 1800
TESTS_FAILED = 1  # what pytest exits with; everything above it says that they could not be run


class Fate(StrEnum):
    """What came of a break."""

    NOTICED = "noticed"
    SURVIVED = "SURVIVED"
    NOT_TRIED = "NOT TRIED"


def copy_of_checkout(folder: Path) -> Path:
    """Copy every file that git knows or would add to a folder of its own and return that."""
    copy = folder / "checkout"
    for name in tracked_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, copy / name)
    return copy


def run_tests(copy: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy until one fails; its own modules come first, whatever is installed."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )


def try_break(copy: Path, wrong: Break) -> tuple[Fate, str]:
    """Put the break into the copy, run its tests, take it out again; returns what came of it and what pytest said."""
    file = copy / wrong.file
    sound = file.read_text(encoding="utf-8")
    file.write_text(wrong.applied_to(sound), encoding="utf-8")
    try:
        done = run_tests(copy, wrong.tests)
    except subprocess.TimeoutExpired:
        return Fate.NOTICED, f"the tests came to no end within {LONGEST_SECONDS} s"
    finally:
        file.write_text(sound, encoding="utf-8")
    last = (done.stdout.strip().splitlines() or [""])[-1]
    if done.returncode == TESTS_FAILED:
        return Fate.NOTICED, last
    return (Fate.NOT_TRIED if done.returncode else Fate.SURVIVED), last or done.stderr


def chosen(breaks: Sequence[Break], names: Sequence[str]) -> tuple[Break, ...]:
    """Return the breaks of these names, all without any; LookupError for a name that is none."""
    unknown = sorted(set(names) - {wrong.name for wrong in breaks})
    if unknown:
        raise LookupError(f"no break is called {', '.join(unknown)}")
    return tuple(wrong for wrong in breaks if not names or wrong.name in names)
