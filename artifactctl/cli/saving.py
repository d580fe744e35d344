"""Writing a file that a person asked for with `--out`."""

import os
from pathlib import Path

from artifactctl.domain.errors import UsageError


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
