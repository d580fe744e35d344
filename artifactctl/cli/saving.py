"""Writing a file that a person asked for by name."""

import os
from collections.abc import Iterable
from pathlib import Path

from artifactctl.domain.errors import UsageError

READABLE_BY_ALL = 0o644


def save_text(path: bytes, text: str) -> None:
    """Write the text durably; UsageError when the place cannot be written."""
    place = Path(os.fsdecode(path))
    try:
        with place.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written: {error.strerror}", remedy="name another file with --out"
        ) from error


def save_stream(path: bytes, pieces: Iterable[str]) -> None:
    """Write the pieces one after the other; the file is there, or replaced, only once it is complete.

    The file beside it has another ending until then: collectors read whatever ends in `.prom`.
    """
    from artifactctl.catalog.publishing import partial_file, publish_over

    place = Path(os.fsdecode(path))
    try:
        with partial_file(place, mode=0o666) as partial:
            with partial.open("w", encoding="utf-8") as file:
                for piece in pieces:
                    file.write(piece)
            partial.chmod(READABLE_BY_ALL)  # a collector of figures runs as another user
            publish_over(partial, place)
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written: {error.strerror}", remedy="name a file in a folder that may be written to"
        ) from error
