"""The manifest of a copy in a store: the object that is written last, and says what every other one is.

It is enough to restore the copy without any catalog. Names that are not UTF-8 are kept as surrogate escapes in JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.archiving.source import why_not_copiable
from artifactctl.hosts.copies import CopyEntry
from artifactctl.stores.failures import StoreFailure

SCHEMA = "artifactctl.archive/1"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMember:
    """Which object holds the bytes of a file, and what they are: SHA-256 in hex, plain and as stored."""

    key: str
    digest: str
    stored_digest: str
    stored_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`members` are those of the files whose bytes are stored, by relative path."""

    name: str
    kind: str
    codec: str
    content_digest: str
    entries: tuple[CopyEntry, ...]
    members: dict[bytes, StoredMember]

    def encoded(self) -> bytes:
        """Return the object's bytes."""
        fields = {
            "schema": SCHEMA,
            "name": self.name,
            "kind": self.kind,
            "codec": self.codec,
            "content_digest": self.content_digest,
            "entries": [_entry_fields(entry, self.members.get(entry.relative)) for entry in self.entries],
        }
        return json.dumps(fields, indent=0).encode("ascii") + b"\n"


def decoded(content: bytes, *, where: str) -> Manifest:
    """Return the manifest; StoreFailure when it is none that we could have written."""
    try:
        fields = json.loads(content)
        if fields["schema"] != SCHEMA:
            raise ValueError(f"it is {fields['schema']}, not {SCHEMA}")
        rows: Sequence[dict[str, Any]] = fields["entries"]
        _require_sound([_entry(row) for row in rows])
        return Manifest(
            name=fields["name"],
            kind=fields["kind"],
            codec=fields["codec"],
            content_digest=fields["content_digest"],
            entries=tuple(_entry(row) for row in rows),
            members={_bytes(row["path"]): StoredMember(**row["object"]) for row in rows if row["object"] is not None},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFailure(f"the manifest {where} cannot be read: {error}", remedy="restore another copy") from error


def _require_sound(entries: Sequence[CopyEntry]) -> None:
    """ValueError for entries that no copy of ours has: whoever can write to the store must not write elsewhere."""
    if not entries or entries[0].relative:
        raise ValueError("its first entry is not the top")
    for entry in entries[1:]:
        if any(part in (b"", b".", b"..") or b"\0" in part for part in entry.relative.split(b"/")):
            raise ValueError(f"{entry.relative!r} is not a path below the top")
    problems = why_not_copiable(entries)
    if problems:
        raise ValueError(problems[0])


def _entry_fields(entry: CopyEntry, member: StoredMember | None) -> dict[str, Any]:
    return {
        "path": _text(entry.relative),
        "type": entry.letter,
        "size_bytes": entry.size_bytes,
        "mode": entry.mode,
        "modified_ns": entry.modified_ns,
        "link_target": _text(entry.link_target),
        "group": entry.group,
        "object": None
        if member is None
        else {
            "key": member.key,
            "digest": member.digest,
            "stored_digest": member.stored_digest,
            "stored_bytes": member.stored_bytes,
        },
    }


def _entry(row: dict[str, Any]) -> CopyEntry:
    return CopyEntry(
        relative=_bytes(row["path"]),
        letter=row["type"],
        size_bytes=row["size_bytes"],
        mode=row["mode"],
        modified_ns=row["modified_ns"],
        link_target=_bytes(row["link_target"]),
        group=row["group"],
    )


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
