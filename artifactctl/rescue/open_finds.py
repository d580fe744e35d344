"""A find while the walk passes through it: bytes, newest change, users, and hard links that leave it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.observation import Holder
from artifactctl.hosts.protocol import Entry, EntryType
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.sightings import Sighting
from artifactctl.rescue.finds import Find

MOST_HOLDERS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)

Uses = Mapping[int, tuple[Holder, ...]]


@dataclass(slots=True)
class Times:
    """The newest mtime, ctime and atime met, in nanoseconds since 1970."""

    modified_ns: int = 0
    changed_ns: int = 0
    read_ns: int = 0

    def meet(self, entry: Entry) -> None:
        """Take an entry in; when a folder was read says nothing about its files."""
        self.modified_ns = max(self.modified_ns, entry.modified_ns)
        self.changed_ns = max(self.changed_ns, entry.changed_ns)
        if entry.type is EntryType.FILE:
            self.read_ns = max(self.read_ns, entry.read_ns)

    def join(self, other: "Times") -> None:
        """Take in what others met."""
        self.modified_ns = max(self.modified_ns, other.modified_ns)
        self.changed_ns = max(self.changed_ns, other.changed_ns)
        self.read_ns = max(self.read_ns, other.read_ns)


@dataclass(slots=True, kw_only=True)
class Weight:
    """A running sum. Files with several names count once, and as freed only when all names were met."""

    allocated_bytes: int = 0
    freed_bytes: int = 0
    files: int = 0
    times: Times = field(default_factory=Times)
    holders: list[Holder] = field(default_factory=list)
    _names_met: dict[int, int] = field(default_factory=dict)

    def add_folder(self, allocated_bytes: int, times: Times, holders: Sequence[Holder]) -> None:
        """Add a folder's own blocks."""
        self.add_many(allocated_bytes=allocated_bytes, files=0, times=times, holders=holders)

    def add_file(self, entry: Entry, holders: Sequence[Holder] = ()) -> None:
        """Add anything that is not a folder."""
        self.files += 1
        self.times.meet(entry)
        self._note(holders)
        if entry.links <= 1:
            self.allocated_bytes += entry.allocated_bytes
            self.freed_bytes += entry.allocated_bytes
            return
        met = self._names_met.get(entry.inode, 0) + 1
        self._names_met[entry.inode] = met
        if met == 1:
            self.allocated_bytes += entry.allocated_bytes
        if met == entry.links:
            self.freed_bytes += entry.allocated_bytes

    def add_many(self, *, allocated_bytes: int, files: int, times: Times, holders: Sequence[Holder]) -> None:
        """Add files with one name each, summed up before."""
        self.files += files
        self.allocated_bytes += allocated_bytes
        self.freed_bytes += allocated_bytes
        self.times.join(times)
        self._note(holders)

    def _note(self, holders: Sequence[Holder]) -> None:
        for holder in holders:
            if len(self.holders) < MOST_HOLDERS and holder not in self.holders:
                self.holders.append(holder)


@dataclass(slots=True, kw_only=True)
class OpenFind:
    """A folder artifact, or a leftover folder (`artifact` None), that is being walked."""

    relative: bytes
    artifact: OpenArtifact | None
    weight: Weight
    inside: list[tuple[bytes, ArtifactKind]] = field(default_factory=list)
    strays: int = 0

    @property
    def is_leftover(self) -> bool:
        """Whether its name alone says what it is."""
        return self.artifact is None

    def closed(self) -> Find:
        """Return the find; all of it has passed."""
        sighting = self.artifact.completed() if self.artifact is not None else None
        return find_of(
            self.relative,
            self.weight,
            sighting,
            is_directory=True,
            inside=tuple(self.inside),
            strays=self.strays,
        )


def find_of(
    relative: bytes,
    weight: Weight,
    sighting: Sighting | None,
    *,
    is_directory: bool,
    inside: tuple[tuple[bytes, ArtifactKind], ...] = (),
    strays: int = 0,
    problems: tuple[str, ...] = (),
) -> Find:
    """Return the find at a path: what was recognised there (None: a leftover or a torn member) with its weight."""
    return Find(
        relative=relative,
        kind=sighting.kind if sighting is not None else ArtifactKind.OTHER,
        layout=sighting.layout if sighting is not None else None,
        is_directory=is_directory,
        allocated_bytes=weight.allocated_bytes,
        freed_bytes=weight.freed_bytes,
        files=weight.files,
        modified_at=_instant(weight.times.modified_ns),
        changed_at=_instant(max(weight.times.modified_ns, weight.times.changed_ns)),
        read_at=_instant(weight.times.read_ns) if weight.times.read_ns else None,
        metrics=sighting.metrics if sighting is not None else (),
        details=sighting.details if sighting is not None else (),
        problems=(*(sighting.problems if sighting is not None else ()), *problems),
        unfinished=sighting.unfinished if sighting is not None else False,
        inside=inside,
        strays=strays,
        holders=tuple(weight.holders),
    )


def _instant(nanoseconds: int) -> datetime:
    """Return the instant; a forged time that no calendar holds counts as changed in the future."""
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return _LATEST
