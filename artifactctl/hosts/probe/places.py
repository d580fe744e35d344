"""The names in a root's private folder, and where an operation keeps what it set aside.

.artifactctl/                                     0700
  root.json  journal  lock  own-changes  <topic>.json
  ballast/                                        files that are unlinked when the disk is full
  quarantine/
    spare-<random>/{members.gz,note.json}         made ahead of need: mkdir fails on a full disk
    <operation>/{members.gz,note.json,content}    set aside
    <operation>.purging/...                       from here only completion
<parent>/.artifactctl-quarantine-<operation>/content     where only a sibling folder works
"""

from __future__ import annotations

import re
from typing import NamedTuple

from artifactctl.hosts.probe.failures import ProbeFailure

PRIVATE = b".artifactctl"
MARKER = b"root.json"
JOURNAL = b"journal"
LOCK = b"lock"
OWN_CHANGES = b"own-changes"
BALLAST = b"ballast"
QUARANTINE = b"quarantine"
CONTENT = b"content"
MANIFEST = b"members.gz"
NOTE = b"note.json"
SPARE_PREFIX = b"spare-"
PURGING_SUFFIX = b".purging"
SIBLING_PREFIX = b".artifactctl-quarantine-"

_OPERATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")


class RootReference(NamedTuple):
    """A root as its owner recorded it; `path` is absolute."""

    path: bytes
    root_id: str
    filesystem_uuid: str
    inode: int


def names_operation(folder: bytes) -> bool:
    """Whether a folder in the quarantine can be that of an operation."""
    return not folder.startswith(SPARE_PREFIX) and _OPERATION.match(folder.decode("ascii", "replace")) is not None


def operation_folder(operation: str) -> bytes:
    """Return the folder name of an operation; ProbeFailure for a name that could lead elsewhere."""
    if not names_operation(operation.encode("utf-8", "replace")):
        raise ProbeFailure(f"{operation!r} cannot name an operation: letters, digits, - and _ only")
    return operation.encode()


def sibling_folder(operation: str) -> bytes:
    """Return the name of the folder beside the target that stands in for the private one."""
    return SIBLING_PREFIX + operation_folder(operation)


def is_sibling_folder(name: bytes) -> bool:
    """Whether a name is that of such a folder; whoever lists what people have does not look into it."""
    return name.startswith(SIBLING_PREFIX) and names_operation(name[len(SIBLING_PREFIX) :])


def split(relative: bytes) -> "tuple[bytes, bytes]":
    """Return (parent, name) of a path below the root; ProbeFailure when it is not strictly below."""
    parts = relative.split(b"/")
    if any(part in (b"", b".", b"..") or part.startswith(SIBLING_PREFIX) for part in parts) or (
        b"\0" in relative or parts[0] == PRIVATE
    ):
        raise ProbeFailure(f"{relative!r} is not a path below a managed root")
    return b"/".join(parts[:-1]), parts[-1]
