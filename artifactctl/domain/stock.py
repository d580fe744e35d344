"""What a scan found and did."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.observation import MemberDrift


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An artifact that was new (or, in a dry run, would have been). `problems` name torn or missing members."""

    name: str
    kind: ArtifactKind
    layout: str
    path: bytes
    files: int
    allocated_bytes: int
    tokens: int | None
    records: int | None
    problems: tuple[str, ...]
    unfinished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A sealed artifact that is not what the catalog says. `accepted` when a person had accepted it by name."""

    name: str
    path: bytes
    drift: MemberDrift
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Strays:
    """Files inside an artifact's folder that are not its members; they block its removal."""

    name: str
    path: bytes
    files: int
    allocated_bytes: int
    examples: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UncataloguedFile:
    """One of the largest files that are nobody's."""

    path: bytes
    allocated_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """Everything a scan has to say. Paths are absolute.

    `uncatalogued_bytes` are on disk, strays included, every inode once. `touched` names sealed artifacts whose members
    are those of the catalog, but were written to or replaced since the catalog last looked. `problems` name folders
    that could not be read: nothing at or below them was called missing.
    """

    registered: tuple[Registered, ...] = ()
    grown: tuple[Registered, ...] = ()
    drift: tuple[Drifted, ...] = ()
    strays: tuple[Strays, ...] = ()
    missing: tuple[str, ...] = ()
    found_again: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    uncatalogued_bytes: int = 0
    uncatalogued_files: int = 0
    uncatalogued_largest: tuple[UncataloguedFile, ...] = ()
    files: int = 0
    allocated_bytes: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything could be read."""
        return not self.problems


def together(reports: Iterable[ScanReport]) -> ScanReport:
    """Return several reports as one, in their order; of the largest uncatalogued files the ten largest."""
    parts = tuple(reports)
    largest = heapq.nlargest(
        10, (file for part in parts for file in part.uncatalogued_largest), key=lambda file: file.allocated_bytes
    )
    return ScanReport(
        registered=tuple(item for part in parts for item in part.registered),
        grown=tuple(item for part in parts for item in part.grown),
        drift=tuple(item for part in parts for item in part.drift),
        strays=tuple(item for part in parts for item in part.strays),
        missing=tuple(name for part in parts for name in part.missing),
        found_again=tuple(name for part in parts for name in part.found_again),
        touched=tuple(name for part in parts for name in part.touched),
        uncatalogued_bytes=sum(part.uncatalogued_bytes for part in parts),
        uncatalogued_files=sum(part.uncatalogued_files for part in parts),
        uncatalogued_largest=tuple(largest),
        files=sum(part.files for part in parts),
        allocated_bytes=sum(part.allocated_bytes for part in parts),
        problems=tuple(problem for part in parts for problem in part.problems),
        notes=tuple(note for part in parts for note in part.notes),
    )
