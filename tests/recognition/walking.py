"""A walk over a real folder for tests of recognition, which takes listings and never walks by itself."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from artifactctl.domain.errors import HostFailure
from artifactctl.recognition.seen import Read, join
from artifactctl.recognition.sightings import Sighting
from artifactctl.recognition.sorting import Belonging
from artifactctl.recognition.survey import ArtifactEnded, FolderSurveyed, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    name: bytes
    type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFolder:
    relative: bytes
    entries: tuple[FoundEntry, ...]
    problem: str = ""


def entry_of(path: bytes, name: bytes) -> FoundEntry:
    status = os.lstat(os.path.join(path, name))
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "symlink"))
    kind = next((word for test, word in kinds if test(status.st_mode)), "other")
    return FoundEntry(name=name, type=kind, size_bytes=status.st_size)


def folders(top: Path, relative: bytes = b"") -> Iterator[FoundFolder]:
    path = os.path.join(os.fsencode(top), relative) if relative else os.fsencode(top)
    entries = tuple(entry_of(path, name) for name in sorted(os.listdir(path)))
    yield FoundFolder(relative=relative, entries=entries)
    for entry in entries:
        if entry.type == "directory":
            yield from folders(top, join(relative, entry.name))


def reader(top: Path) -> Read:
    def read(relative: bytes, offset: int, length: int) -> bytes:
        try:
            descriptor = os.open(os.path.join(os.fsencode(top), relative), os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            raise HostFailure(str(error)) from error
        try:
            return os.pread(descriptor, length, offset)
        finally:
            os.close(descriptor)

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything a survey said, by path."""

    sightings: dict[str, Sighting]
    members: dict[str, tuple[str, ...]]
    strays: tuple[str, ...]
    notes: tuple[str, ...]


def look(top: Path) -> Found:
    sightings: dict[str, Sighting] = {}
    members: dict[str, list[str]] = {}
    strays: list[str] = []
    notes: list[str] = []
    for event in survey(folders(top), reader(top)):
        if isinstance(event, ArtifactEnded):
            sightings[os.fsdecode(event.artifact.relative)] = event.artifact.completed()
            continue
        assert isinstance(event, FolderSurveyed)
        inside = event.folder.relative
        notes += [event.note] if event.note else []
        for entry, belonging, sighting in event.entries:
            path = os.fsdecode(join(inside, entry.name))
            if belonging is Belonging.STRAY:
                strays.append(path)
            elif belonging is Belonging.MEMBER and event.owner is not None:
                members.setdefault(os.fsdecode(event.owner.relative), []).append(
                    os.fsdecode(event.owner.inner(join(inside, entry.name)))
                )
            elif sighting is not None:
                sightings[path] = sighting
    return Found(
        sightings=sightings,
        members={name: tuple(found) for name, found in members.items()},
        strays=tuple(strays),
        notes=tuple(notes),
    )
