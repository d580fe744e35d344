"""One folder as the recognisers look at it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.recognition.seen import DIRECTORY, FILE, SYMLINK, Read, SeenFolder, base_name, join


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderView:
    """The names in a folder by type, and a way to read the first bytes of what lies in it.

    `files` maps regular files to their size in bytes. `counts_content` is false where counting records and reading
    many headers would be wasted, since the catalog already knows the numbers.
    """

    relative: bytes
    files: dict[bytes, int]
    directories: frozenset[bytes]
    links: frozenset[bytes]
    read: Read
    counts_content: bool = True

    @classmethod
    def of(cls, folder: SeenFolder, read: Read, *, counts_content: bool = True) -> "FolderView":
        """Return the view of one listing."""
        return cls(
            relative=folder.relative,
            files={entry.name: entry.size_bytes for entry in folder.entries if entry.type == FILE},
            directories=frozenset(entry.name for entry in folder.entries if entry.type == DIRECTORY),
            links=frozenset(entry.name for entry in folder.entries if entry.type == SYMLINK),
            read=read,
            counts_content=counts_content,
        )

    @property
    def name(self) -> bytes:
        """The folder's own name; b"" for the top of the walk."""
        return base_name(self.relative)

    def matching(self, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
        """Yield the names of files that match as a whole, in the order of the walk."""
        return (name for name in self.files if pattern.fullmatch(name))

    def path(self, name: bytes) -> bytes:
        """Return the path of `name` in this folder."""
        return join(self.relative, name)

    def json_object(self, name: bytes, *, largest_bytes: int) -> dict[str, Any] | None:
        """Return the JSON object in a file; None when absent, larger, unreadable or something else."""
        size_bytes = self.files.get(name)
        if size_bytes is None or size_bytes > largest_bytes:
            return None
        return parse_json_object(self.read, self.path(name), size_bytes)


def parse_json_object(read: Read, relative: bytes, size_bytes: int) -> dict[str, Any] | None:
    """Return the JSON object that a file holds; None when it cannot be read or holds something else."""
    try:
        content = json.loads(read(relative, 0, size_bytes))
    except (HostFailure, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def first_line(read: Read, relative: bytes, *, longest_bytes: int = 4096) -> str:
    """Return the first line of a small text file, "" when there is none to read."""
    try:
        head = read(relative, 0, longest_bytes)
    except HostFailure:
        return ""
    return display_path(head.partition(b"\n")[0].strip())
