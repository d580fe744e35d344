"""Copies of what the catalog must not forget (holds, live operations, its own head), kept below the root itself.

`<topic>.json` holds one line about its content (length, SHA-256), then the content, then padding. The file that the
next replacement is written to is made ahead of need, so that a hold can be placed on a full disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from typing import Optional

from artifactctl.hosts.probe import durable, places, room
from artifactctl.hosts.probe.failures import ProbeFailure

AHEAD_BYTES = 16 << 10
TOPICS = ("holds", "operations", "catalog")
_TOPIC = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")


def _file_name(topic: str) -> bytes:
    if not _TOPIC.match(topic) or f"{topic}.json".encode() == places.MARKER:
        raise ProbeFailure(f"{topic!r} cannot name a mirror")
    return f"{topic}.json".encode()


def make_room(private_fd: int) -> None:
    """Fill the files that the next mirrors are written to; ENOSPC when there is no space."""
    for topic in TOPICS:
        _make_next(private_fd, _file_name(topic))


def _make_next(private_fd: int, name: bytes) -> None:
    with suppress(FileExistsError):
        durable.fill_file(name + b".next", private_fd, b"\n", AHEAD_BYTES)


def write_mirror(private_fd: int, topic: str, content: bytes) -> None:
    """Replace the mirror of a topic; on disk when it returns."""
    name = _file_name(topic)
    about = json.dumps({"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}).encode("ascii")
    room.with_room(private_fd, lambda: durable.replace_file(name, private_fd, about + b"\n" + content))
    try:
        _make_next(private_fd, name)
    except OSError as error:
        if error.errno not in room.NO_ROOM:
            raise


def read_mirror(private_fd: int, topic: str) -> Optional[bytes]:
    """Return what was mirrored, None when nothing was; ProbeFailure when it is not what was written."""
    name = _file_name(topic)
    try:
        raw = durable.read_file(name, private_fd)
    except FileNotFoundError:
        return None
    line, _, rest = raw.partition(b"\n")
    try:
        about = json.loads(line)
        content = rest[: about["bytes"]]
        intact = hashlib.sha256(content).hexdigest() == about["sha256"]
    except (ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        shown = os.fsdecode(name)
        raise ProbeFailure(
            f".artifactctl/{shown} is damaged: what it protected is not known",
            remedy=f"restore the catalog from a backup, or look at .artifactctl/{shown} and remove it",
        )
    return content
