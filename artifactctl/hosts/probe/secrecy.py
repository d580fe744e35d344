"""Command lines as they may be shown and kept: whoever gives a password in a URL shows it to nobody through us."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://[^\s/@:]*):[^\s@]*@")
_NAMED = re.compile(r"\b((?:ssl|PG)?password=)[^\s&]+", re.IGNORECASE)


def without_passwords(command: str) -> str:
    """Return the words of a command with `***` for each password in a URL or after `password=`."""
    return _NAMED.sub(r"\1***", _IN_URL.sub(r"\1:***@", command))
