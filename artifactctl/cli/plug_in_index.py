"""Which commands other packages offer, read from their entry points without importing anything of them.

Why not `importlib.metadata`: importing it and asking it takes as long as click itself, and `--help` has to be quick. It
is used to load the one command that is run. Both read the same files.
"""

import os
import sys
from collections.abc import Iterator, Sequence

_METADATA = (".dist-info", ".egg-info")


def offered_commands(group: str, *, places: Sequence[str] | None = None) -> dict[str, str]:
    """Return command name to package name for an entry-point group; `places` are by default those Python searches."""
    found: dict[str, str] = {}
    for place in dict.fromkeys(sys.path if places is None else places):
        for package, text in _entry_points(place):
            if f"[{group}]" in text:
                found = {name: package for name in _names_in(text, group)} | found
    return found


def _entry_points(place: str) -> Iterator[tuple[str, str]]:
    """Yield (package, content of its entry_points.txt) for what is installed at one place of the search path."""
    try:
        folders = list(os.scandir(place or "."))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # nothing can be imported from there either
    for folder in folders:
        if folder.name.endswith(_METADATA):
            file = os.path.join(folder.path, "entry_points.txt")
            if os.path.isfile(file):
                with open(file, encoding="utf-8", errors="replace") as opened:
                    yield folder.name.split("-")[0].removesuffix(".egg").replace("_", "-"), opened.read()


def _names_in(text: str, group: str) -> Iterator[str]:
    """Yield the names in one section of an entry_points.txt."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[0].strip()
