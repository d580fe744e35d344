"""Where a catalog is: a file, or a database by its URL."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from artifactctl.domain.errors import UsageError

_DRIVERS = dict.fromkeys(("postgres", "postgresql", "postgresql+psycopg"), "postgresql+psycopg")
_SECRET = ("password", "sslpassword", "passfile")


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
    except (ArgumentError, ValueError):  # several hosts with ports, among others
        raise UsageError("the catalog's URL cannot be read", remedy=_EXAMPLES) from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise UsageError("a catalog in memory would forget everything", remedy=_EXAMPLES)
        return _file(Path(url.database))
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    if url.drivername not in _DRIVERS.values():
        raise UsageError(f"a catalog cannot be kept in {url.get_backend_name()}", remedy=_EXAMPLES)
    return Location(url=url, path=None, shown=_shown(url))


def without_password(text: str, location: Location) -> str:
    """Return a text of somebody else's in which no password of the location stands."""
    secrets = [location.url.password, *(location.url.query.get(name) for name in _SECRET)]
    for secret in secrets:
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "***")
    return text


def _shown(url: URL) -> str:
    """Return the URL as it was written, less its passwords: nobody types the driver's name."""
    query = {name: "***" if name in _SECRET else value for name, value in url.query.items()}
    plain = url.set(drivername=url.get_backend_name(), query=query)
    return plain.render_as_string(hide_password=True).replace(quote_plus("***"), "***")


def sqlite_address(path: Path, *, mode: str) -> str:
    """Return the address by which SQLite opens a file; `mode` is ro or rw, neither of which makes one."""
    return f"file:{quote_from_bytes(os.fsencode(path))}?mode={mode}"


def _file(path: Path) -> Location:
    absolute = path.expanduser().absolute()
    return Location(url=URL.create("sqlite", database=str(absolute)), path=absolute, shown=str(absolute))


_EXAMPLES = (
    "write a path such as /var/lib/artifactctl/catalog.db, or postgresql://user@server/database, or, for several"
    " servers, postgresql://user@/database?host=one:5432&host=two:5432"
)
