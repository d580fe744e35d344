"""What a walk found, as values: one artifact, leftover or torn file each."""

from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.observation import Holder
from artifactctl.recognition.sightings import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """Something with a path of its own; `relative` to where the search began, sizes with every inode once.

    `layout` is None for leftovers and torn files. `freed_bytes` leaves out inodes that also have a name outside.
    `modified_at` is the newest mtime at or below it, `changed_at` the newest mtime or ctime, `read_at` the newest atime
    of a file (None: not known). `inside` names artifacts nested in it, `strays` counts
    files below that do not belong to its layout. `holders` is empty where nobody was seen to use it.
    """

    relative: bytes
    kind: ArtifactKind
    is_directory: bool
    allocated_bytes: int
    freed_bytes: int
    files: int
    modified_at: datetime
    changed_at: datetime
    read_at: datetime | None = None
    layout: Layout | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
    unfinished: bool = False
    inside: tuple[tuple[bytes, ArtifactKind], ...] = ()
    strays: int = 0
    holders: tuple[Holder, ...] = ()

    @property
    def name(self) -> bytes:
        """Its last component."""
        return self.relative.rpartition(b"/")[2]

    @property
    def folder(self) -> bytes:
        """The folder it lies in; b"" is where the search began."""
        return self.relative.rpartition(b"/")[0]

    @property
    def is_whole(self) -> bool:
        """Whether nothing says that it was not finished."""
        return not self.problems and not self.unfinished

    def detail(self, key: str) -> str:
        """Return one detail, "" when there is none of that name."""
        return next((value for name, value in self.details if name == key), "")

    def metric(self, key: str) -> float | None:
        """Return one number, None when there is none of that name."""
        return next((value for name, value in self.metrics if name == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A link, or a small text file such as `latest`, that names something else; both relative to the search."""

    relative: bytes
    target: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything a search saw. `torn` are member files that are too short for what their header promises.

    `complete` is false when time ran out: then `stopped_in` is where, `unreached` what was listed and not looked into.
    `roots` are folders that hold a `.artifactctl`; `unclaimed` adds up, by top-level name, what is in no find.
    """

    finds: tuple[Find, ...]
    leftovers: tuple[Find, ...]
    torn: tuple[Find, ...]
    pointers: tuple[Pointer, ...]
    roots: tuple[bytes, ...]
    unclaimed: tuple[tuple[bytes, int], ...]
    entries: int
    seen_bytes: int
    complete: bool
    stopped_in: bytes = b""
    unreached: tuple[bytes, ...] = ()
    problems: tuple[str, ...] = ()


def lies_at_or_below(path: bytes, folder: bytes) -> bool:
    """Whether `path` is the folder or lies in it; b"" holds everything."""
    return not folder or path == folder or path.startswith(folder + b"/")
