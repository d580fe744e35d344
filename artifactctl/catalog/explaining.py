"""Turning what a database raises into what it means, at the border of this package."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from artifactctl.catalog import ballast
from artifactctl.catalog.engine import explain
from artifactctl.catalog.failures import CatalogFull
from artifactctl.catalog.location import Location


@contextmanager
def explained(location: Location) -> Iterator[None]:
    """Raise what an error of the database means; what is a fault of the program comes through as it is."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        meaning = explain(error, location)
        if meaning is None:
            raise
        if isinstance(meaning, CatalogFull) and location.path is not None and ballast.release(location.path):
            meaning.remedy = "try once more: a little space that was kept for this is free now; then free some more"
        raise meaning from error
