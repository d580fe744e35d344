"""From a person's word to what a stage reads: a path that is there, else the artifact of that name."""

import os
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.errors import UsageError


def place_meant(session: Session, word: str) -> Path:
    """Return the path that a word means: a path that is there, else that of the artifact of this name; UsageError."""
    return Path(word) if os.path.lexists(word) else Path(os.fsdecode(session.path(word)))


def catalogued(session: Session, word: str) -> str:
    """Return the name of the artifact that a word means, "" when the catalog knows none."""
    try:
        return session.artifact(os.path.abspath(word) if os.path.lexists(word) else word).name
    except UsageError:
        return ""
