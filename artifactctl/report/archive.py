"""What a copy came to: how much, how fast, what was proven of it, and what may be done next."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.text import display_path, printable, shell_word
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import counted, format_bytes, format_rate
from artifactctl.report.tables import Document, Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlace:
    """A path on a machine, or the URL of an object store, which has no `host`. `is_elsewhere`: on another machine."""

    path: bytes
    host: str = ""
    is_elsewhere: bool = False

    @property
    def typed(self) -> bytes:
        """The place as it is typed on this machine."""
        return os.fsencode(self.host) + b":" + self.path if self.is_elsewhere else self.path

    @property
    def text(self) -> str:
        """The place for people."""
        return display_path(self.typed)

    @property
    def word(self) -> str:
        """The place as a word of a command line."""
        return shell_word(self.typed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyMade:
    """One run of `archive`. `origin` is where the bytes were read back from: device, cache, store or unknown.

    `is_verified` false: it was stopped before the copy was complete. `same_volume`: both copies lie on one filesystem.
    `is_restored`: it was brought back to its place, and the copy it came from stays.
    """

    name: str
    source: CopyPlace
    destination: CopyPlace
    size_bytes: int
    sent_bytes: int
    files: int
    seconds: float
    origin: str
    is_verified: bool
    same_volume: bool = False
    is_restored: bool = False

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What to type next."""
        if self.is_restored:
            again = f"artifactctl unarchive {self.name} --to {self.destination.word}"
            return () if self.is_verified else (again,)
        if self.is_verified:
            return (f"artifactctl reclaim {self.source.word} --dry-run",)
        return (f"artifactctl archive {self.name} --to {self.destination.word}",)


_ORIGINS = {
    "store": "read back over the wire and hashed here",
    "device": "read back from the disk there and hashed there, the cache left out",
    "cache": "read back and hashed there, some of it from a cache that could not be dropped",
    "unknown": "read back and hashed there; the system does not tell whether from disk or cache",
}


def origin_of(from_device: bool | None) -> str:  # noqa: FBT001  three values, none of them a switch
    """Return the word for where the bytes were read back from."""
    return "unknown" if from_device is None else "device" if from_device else "cache"


def copy_document(copy: CopyMade) -> Document:
    """Return what `archive` says."""
    place = copy.destination.text
    if not copy.is_verified:
        return [
            f"stopped: {format_bytes(copy.sent_bytes)} of {format_bytes(copy.size_bytes)} were copied towards {place}",
            "nothing of it counts as a copy yet",
            f"to go on: {copy.next_steps[0]}",
        ]
    what = f"{counted(copy.files, 'file')}, {format_bytes(copy.size_bytes)}"
    lines = [
        f"{copy.name}: a verified copy ({what}) is at {place}",
        f"every file was {_ORIGINS[copy.origin]}",
    ]
    if copy.sent_bytes and copy.seconds > 0:
        lines.append(f"{format_bytes(copy.sent_bytes)} at {format_rate(copy.sent_bytes / copy.seconds)}")
    if copy.same_volume:
        lines.append("both copies lie on one filesystem: what takes that takes both")
    if copy.is_restored:
        return [*lines, f"the copy that it came from stays at {copy.source.text}"]
    lines += [f"the original stays at {copy.source.text}; whether it may go now: {copy.next_steps[0]}"]
    return lines


def copy_payload(copy: CopyMade) -> dict[str, Any]:
    """Return the same for scripts."""
    return {
        "name": copy.name,
        **json_path(copy.source.path, key="source"),
        "source_host": copy.source.host or None,
        **json_path(copy.destination.path, key="destination"),
        "destination_host": copy.destination.host or None,
        "size_bytes": copy.size_bytes,
        "sent_bytes": copy.sent_bytes,
        "files": copy.files,
        "duration_seconds": round(copy.seconds, 3),
        "bytes_per_second": int(copy.sent_bytes / copy.seconds) if copy.seconds > 0 else None,
        "verified_level": "digests" if copy.is_verified else None,
        "read_back_from": copy.origin if copy.is_verified else None,
        "same_volume": copy.same_volume,
        "next_steps": list(copy.next_steps),
    }


def begun_payload(name: str, places: Sequence[bytes]) -> dict[str, Any]:
    """Return the copies that were given up, for scripts."""
    return {"name": name, "abandoned": [json_path(place, key="place") for place in places]}


def archive_table(copies: Sequence[ArchiveCopy]) -> Table:
    """Return the copies of one artifact in object stores, with what was verified and when."""
    rows = [
        (
            copy.state.value,
            printable(copy.url),
            format_bytes(copy.stored_bytes),
            copy.codec,
            f"digests {copy.verified_at:%Y-%m-%d}" if copy.verified_at is not None else "no",
        )
        for copy in copies
    ]
    return Table(columns=columns("archive", "url", ">stored", "codec", "verified"), rows=tuple(rows))


def archive_payload(copy: ArchiveCopy) -> dict[str, Any]:
    """Return one of them for scripts."""
    return {
        "archive": copy.archive_id,
        "url": copy.url,
        "state": copy.state.value,
        "codec": copy.codec,
        "files": copy.files,
        "size_bytes": copy.size_bytes,
        "stored_bytes": copy.stored_bytes,
        "begun_at": copy.begun_at,
        "verified_at": copy.verified_at,
        "verified_level": "digests" if copy.is_verified else None,
    }
