"""The figures of the matrix in a file: for each cell how many points were killed, and whether that was all of them."""

import json
import platform
import sqlite3
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

FILE = Path(__file__).with_name("figures.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One cell: calls 1 to `points` were killed at and recovered from. `complete`: the command has no more of them.

    `day` is the date of the last of them (UTC); `versions` are what it ran on.
    """

    points: int
    complete: bool
    day: str
    versions: str


def read_figures(file: Path = FILE) -> dict[str, Figure]:
    """Return the figures by the name of their cell."""
    if not file.exists():
        return {}
    return {name: Figure(**figure) for name, figure in json.loads(file.read_text(encoding="utf-8")).items()}


def write_figures(figures: dict[str, Figure], file: Path = FILE) -> None:
    """Replace the file in one step: a run that is stopped leaves the figures of its last point."""
    text = json.dumps({name: asdict(figures[name]) for name in sorted(figures)}, indent=1)
    fresh = file.with_suffix(".new")
    fresh.write_text(text + "\n", encoding="utf-8")
    fresh.replace(file)


def figure_of(points: int, *, complete: bool) -> Figure:
    """Return the figure of a cell as it is now, on this machine."""
    return Figure(points=points, complete=complete, day=datetime.now(UTC).date().isoformat(), versions=_versions())


def _versions() -> str:
    kernel = platform.release().split("-")[0]
    return f"Linux {kernel}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
