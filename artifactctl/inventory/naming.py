"""Names of artifacts and how a person writes a path."""

import hashlib

from artifactctl.domain.artifacts import Root

LONGEST_NAME = 255


def shown(path: bytes) -> str:
    """Return a path for a message; bytes that are not UTF-8 and control characters are escaped."""
    return "".join(_escaped(character) for character in path.decode("utf-8", "backslashreplace"))


def name_of(root: Root, relative: bytes) -> str:
    """Return the name that a scan gives: `<root>/<path below it>`, with what names cannot hold escaped.

    A name that would be too long keeps its end and a digest of the path.
    """
    full = f"{root.name}/{shown(relative)}".replace(":", "\\x3a")
    if len(full) <= LONGEST_NAME:
        return full
    digest = hashlib.sha256(relative).hexdigest()[:12]
    return f"{root.name}/…{digest}…{full[-(LONGEST_NAME - len(root.name) - 20) :]}"


def numbered(name: str, number: int) -> str:
    """Return another name for the case that the name is taken."""
    suffix = f"~{number}"
    return name[: LONGEST_NAME - len(suffix)] + suffix


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x20 or 0x7F <= code < 0xA0 else character
