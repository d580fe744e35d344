"""Where a catalog is: a file, or a database by its URL."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from artifactctl.domain.errors import UsageError

_DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """`path` is absolute for a file, None for a server; `shown` is for people and holds no password."""

    url: URL
    path: Path | None
    shown: str


def parse_location(text: str | Path) -> Location:
    """Return the location that a person wrote as a path or as a database URL."""
    if isinstance(text, Path) or "://" not in text:
        return _file(Path(text))
    try:
        url = make_url(text)
    except ArgumentError:
        raise UsageError("the catalog's URL cannot be read", remedy=_EXAMPLES) from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise UsageError("a catalog in memory would forget everything", remedy=_EXAMPLES)
        return _file(Path(url.database))
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    return Location(url=url, path=None, shown=url.render_as_string(hide_password=True))


def sqlite_address(path: Path, *, mode: str) -> str:
    """Return the address by which SQLite opens a file; `mode` is ro or rw, neither of which makes one."""
    return f"file:{quote_from_bytes(os.fsencode(path))}?mode={mode}"


def _file(path: Path) -> Location:
    absolute = path.expanduser().absolute()
    return Location(url=URL.create("sqlite", database=str(absolute)), path=absolute, shown=str(absolute))


_EXAMPLES = "write a path such as /var/lib/artifactctl/catalog.db, or postgresql://user@server/database"
