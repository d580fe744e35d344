"""Writing a file that a person asked for by name."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from artifactctl.domain.errors import UsageError


def save_text(path: bytes, text: str) -> None:
    """Write the text durably; UsageError when the place cannot be written."""
    place = Path(os.fsdecode(path))
    try:
        _write(place, text + "\n")
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written: {error.strerror}", remedy="name another file with --out"
        ) from error


def replace_text(path: bytes, text: str) -> None:
    """Put a whole new file in the place of an old one, so that no reader ever sees half of it.

    The file beside it has another ending until it is complete: collectors read whatever ends in `.prom`.
    """
    place = Path(os.fsdecode(path))
    aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        _write(aside, text)
        aside.replace(place)
    except OSError as error:
        with suppress(FileNotFoundError):
            aside.unlink()
        raise UsageError(
            f"{place} cannot be written: {error.strerror}", remedy="name a folder that exists and may be written to"
        ) from error


def _write(place: Path, text: str) -> None:
    with place.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
