"""`du`: what lies below a root, by kind and state, and what nobody catalogued."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import display_path, printable, shown_path
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes
from artifactctl.report.tables import Document, Table, columns

UNCATALOGUED_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Bytes on disk of one kind in one state below one root."""

    root: str
    kind: str
    state: str
    artifacts: int
    allocated_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncatalogued:
    """A folder or file directly below the measured path that holds bytes which belong to no artifact."""

    path: bytes
    allocated_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """What was measured below one path of the machine `host` (`elsewhere`: its name unless it is this one). `problems`
    names what could not be read: those bytes are missing here.

    `folder_bytes` are the blocks of folders that belong to no artifact: nothing anybody could catalogue. `undivided`
    says why only the total is known, which then stands in `uncatalogued_bytes`.
    """

    host: str
    elsewhere: str
    path: bytes
    shares: tuple[Share, ...]
    uncatalogued: tuple[Uncatalogued, ...]
    uncatalogued_bytes: int
    folder_bytes: int
    problems: tuple[str, ...] = ()
    undivided: str = ""

    @property
    def total_bytes(self) -> int:
        """All bytes that were seen."""
        return self.uncatalogued_bytes + self.folder_bytes + sum(share.allocated_bytes for share in self.shares)


def disk_usage_text(usages: Sequence[DiskUsage]) -> Document:
    """Return `du` for a person."""
    document: list[str | Table] = []
    for usage in usages:
        document += [*_one(usage), ""]
    return document[:-1]


def disk_usage_payload(usages: Sequence[DiskUsage]) -> dict[str, Any]:
    """Return `du --json`."""
    return {
        "total_bytes": sum(usage.total_bytes for usage in usages),
        "uncatalogued_bytes": sum(usage.uncatalogued_bytes for usage in usages),
        "folder_bytes": sum(usage.folder_bytes for usage in usages),
        "places": [
            {
                "host": usage.host,
                **json_path(usage.path),
                "total_bytes": usage.total_bytes,
                "uncatalogued_bytes": usage.uncatalogued_bytes,
                "folder_bytes": usage.folder_bytes,
                "shares": [
                    {
                        "root": share.root,
                        "kind": share.kind,
                        "state": share.state,
                        "artifacts": share.artifacts,
                        "allocated_bytes": share.allocated_bytes,
                    }
                    for share in usage.shares
                ],
                "uncatalogued": [
                    {**json_path(item.path), "allocated_bytes": item.allocated_bytes} for item in usage.uncatalogued
                ],
                "problems": [*filter(None, [usage.undivided]), *usage.problems],
            }
            for usage in usages
        ],
    }


def _one(usage: DiskUsage) -> list[str | Table]:
    return [f"{shown_path(usage.elsewhere, usage.path)}  {format_bytes(usage.total_bytes)}", *_parts(usage)]


def _parts(usage: DiskUsage) -> list[str | Table]:
    """Return whose the bytes are, or why that is not told, and what could not be read."""
    unread = [f"not read: {printable(problem)}" for problem in usage.problems]
    if usage.undivided:
        return [usage.undivided, *unread]
    rows = [
        (share.kind, share.state, f"{share.artifacts:,}", format_bytes(share.allocated_bytes)) for share in usage.shares
    ]
    rows.append(("uncatalogued", "", "", format_bytes(usage.uncatalogued_bytes)))
    rows.append(("folders", "", "", format_bytes(usage.folder_bytes)))
    lines: list[str | Table] = [Table(columns=columns("kind", "state", ">artifacts", ">on disk"), rows=tuple(rows))]
    if usage.uncatalogued:
        shown = [(format_bytes(i.allocated_bytes), display_path(i.path)) for i in usage.uncatalogued]
        largest = Table(columns=columns(">uncatalogued", "where"), rows=tuple(shown[:UNCATALOGUED_SHOWN]))
        lines += ["", largest]
    return [*lines, *unread]
