"""The names that artifacts get."""

import hashlib

from artifactctl.domain.artifacts import Root
from artifactctl.domain.text import display_path

LONGEST_NAME = 255


def name_of(root: Root, relative: bytes) -> str:
    """Return the name that a scan gives: `<root>/<path below it>`, with what names cannot hold escaped.

    A name that would be too long keeps its end and a digest of the path.
    """
    full = f"{root.name}/{display_path(relative)}".replace(":", "\\x3a")
    if len(full) <= LONGEST_NAME:
        return full
    digest = hashlib.sha256(relative).hexdigest()[:12]
    return f"{root.name}/…{digest}…{full[-(LONGEST_NAME - len(root.name) - 20) :]}"


def numbered(name: str, number: int) -> str:
    """Return another name for the case that the name is taken."""
    suffix = f"~{number}"
    return name[: LONGEST_NAME - len(suffix)] + suffix
