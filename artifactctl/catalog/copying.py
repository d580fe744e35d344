"""A copy of a catalog to think with: what is written into it is forgotten."""

import sqlite3
from contextlib import closing
from pathlib import Path

from artifactctl.catalog.location import parse_location, sqlite_address
from artifactctl.domain.errors import UsageError


def copy_catalog(location: str, to: Path) -> None:
    """Copy the SQLite catalog at `location` to the new file `to`, as one consistent state; the original is only read.

    UsageError for a catalog that is no file.
    """
    where = parse_location(location)
    if where.path is None:
        raise UsageError(
            f"{where.shown} is not a file, so it cannot be tried out in a copy",
            remedy="register the path first: `artifactctl root add`, then `artifactctl scan`",
        )
    source = sqlite_address(where.path, mode="ro")
    with closing(sqlite3.connect(source, uri=True)) as original, closing(sqlite3.connect(to)) as copy:
        original.backup(copy)
