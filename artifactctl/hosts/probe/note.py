"""The note beside a manifest: enough to restore a quarantine without any catalog.

JSON with a digest over its own fields, padded with blanks where the file was filled ahead of need.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, Optional

from artifactctl.hosts.probe import durable, places

SCHEMA = "artifactctl.note/1"
Note = Dict[str, Any]


def write(folder_fd: int, note: Note) -> None:
    """Write and fsync the note into an operation's folder."""
    fields = {"schema": SCHEMA, **note}
    text = json.dumps({**fields, "digest": _digest(fields)}, indent=1, sort_keys=True) + "\n"
    durable.overwrite_file(places.NOTE, folder_fd, text.encode("ascii"), b" ")


def read(folder_fd: int, operation: str) -> Optional[Note]:
    """Return the note, None when there is none, it is torn, or it is another operation's."""
    try:
        note = json.loads(durable.read_file(places.NOTE, folder_fd))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(note, dict) or note.pop("digest", None) != _digest(note) or note.get("operation") != operation:
        return None
    return note


def _digest(fields: Note) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode("ascii")).hexdigest()


def original_of(note: Note) -> bytes:
    """Return the path below the root that the note's target was taken from."""
    return os.fsencode(note["relative"])
