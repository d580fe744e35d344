"""What the entries of one folder belong to."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.declarations import Declaration
from artifactctl.recognition.hidden_states import SAMPLE, single_shard
from artifactctl.recognition.membership import is_transient
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.recognisers import recognise_file
from artifactctl.recognition.seen import DIRECTORY, FILE, SYMLINK, SeenEntry, join
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView
from artifactctl.recognition.vocab_maps import is_vocab_name

_DATA_KINDS = (
    ArtifactKind.HIDDEN_STATES,
    ArtifactKind.MERGED_CORPUS,
    ArtifactKind.RESPONSE_SET,
    ArtifactKind.OTHER,
)


class Catalogued(Protocol):
    """What the catalog knows about the tree that is being surveyed."""

    def artifact_at(self, relative: bytes) -> Sighting | None:
        """Return the artifact whose top is at `relative`, None when there is none."""
        ...

    def names_in(self, folder: bytes) -> frozenset[bytes]:
        """Return the names directly in `folder` at which the top of some artifact is."""
        ...

    def has_members_below(self, artifact: bytes, folder: bytes) -> bool:
        """Whether members of the artifact at `artifact` are catalogued in `folder` or below it."""
        ...


class NothingCatalogued:
    """A catalog that knows nothing."""

    def artifact_at(self, relative: bytes) -> Sighting | None:
        return None

    def names_in(self, folder: bytes) -> frozenset[bytes]:
        return frozenset()

    def has_members_below(self, artifact: bytes, folder: bytes) -> bool:
        return False


class Belonging(Enum):
    """What an entry of a folder belongs to."""

    FOLDER = "folder"  # a folder: its own listing follows
    MEMBER = "member"  # the folder's owner; of a catalogued owner, the catalog has the last word
    FILE = "file"  # itself: a single-file artifact that was just recognised
    CATALOGUED_FILE = "catalogued_file"  # itself: a single-file artifact that the catalog knows
    STRAY = "stray"  # nothing


class SortedEntry(NamedTuple):
    """One entry with what it belongs to; `sighting` is set for single-file artifacts."""

    entry: SeenEntry
    belonging: Belonging
    sighting: Sighting | None = None


class Sorting:
    """The entries of one folder. What is the same for all of them is settled once: a folder may hold a million."""

    def __init__(
        self,
        view: FolderView,
        owner: OpenArtifact | None,
        known: Catalogued,
        declared: Declaration | None,
        *,
        takes_single_shards: bool,
    ) -> None:
        self._view = view
        self._owner = owner
        self._known = known
        self._declared = declared
        self._takes_single_shards = takes_single_shards
        self._named = known.names_in(view.relative)
        if declared is not None and declared.relative.rpartition(b"/")[0] == view.relative:
            self._named |= {declared.relative.rpartition(b"/")[2]}

    def sorted(self, entries: Sequence[SeenEntry]) -> tuple[SortedEntry, ...]:
        """Return every entry with what it belongs to; the owner's samples are counted on the way."""
        found = tuple(self._sort(entries))
        owner = self._owner
        if owner is not None and owner.counts_samples:
            member, is_sample = Belonging.MEMBER, SAMPLE.fullmatch
            owner.samples += sum(1 for item in found if item.belonging is member and is_sample(item.entry.name))
        return found

    def _sort(self, entries: Sequence[SeenEntry]) -> Iterator[SortedEntry]:
        named, is_member = self._named, self._membership()
        for entry in entries:
            if entry.type == DIRECTORY:
                yield SortedEntry(entry, Belonging.FOLDER)
            elif entry.name in named and (stated := self._stated(entry)) is not None:
                yield stated
            elif is_member(entry):
                yield SortedEntry(entry, Belonging.MEMBER)
            else:
                yield self._by_itself(entry)

    def _stated(self, entry: SeenEntry) -> SortedEntry | None:
        """Return what the catalog or a person says that the file is."""
        path = self._view.path(entry.name)
        catalogued = self._known.artifact_at(path)
        if catalogued is not None:
            return SortedEntry(entry, Belonging.CATALOGUED_FILE, catalogued)
        if self._declared is None or self._declared.relative != path:
            return None
        recognised = recognise_file(self._view, entry.name) if entry.type == FILE else None
        return SortedEntry(entry, Belonging.FILE, self._declared.applied_to(recognised, is_directory=False))

    def _membership(self) -> Callable[[SeenEntry], bool]:
        """Return the test whether a file belongs to the folder's owner."""
        owner = self._owner
        if owner is None:
            return lambda _entry: False
        if owner.is_catalogued:
            return lambda _entry: True
        kind, is_declared, fits = owner.sighting.kind, owner.is_declared, owner.fits
        sets_maps_apart = kind in _DATA_KINDS and not (is_declared and kind is ArtifactKind.OTHER)
        folder = join(owner.inner(self._view.relative), b"")

        def is_member(entry: SeenEntry) -> bool:
            name = entry.name
            if is_transient(name) and _is_half_written(owner, folder + name):
                owner.note_transient(folder + name)
                return is_declared
            if sets_maps_apart and is_vocab_name(name):
                return False
            return is_declared or (entry.type in (FILE, SYMLINK) and bool(fits(folder + name)))

        return is_member

    def _by_itself(self, entry: SeenEntry) -> SortedEntry:
        sighting = self._single(entry)
        if sighting is not None:
            return SortedEntry(entry, Belonging.FILE, sighting)
        return SortedEntry(entry, Belonging.STRAY)

    def _single(self, entry: SeenEntry) -> Sighting | None:
        if entry.type != FILE or (self._owner is not None and self._owner.is_catalogued):
            return None
        if self._takes_single_shards and entry.name.endswith(b".safetensors"):
            return single_shard(self._view, entry.name)
        return recognise_file(self._view, entry.name)


def _is_half_written(owner: OpenArtifact, inner: bytes) -> bool:
    """Whether a name of a lock or a half-written file says so here; a hub cache keeps its finished locks."""
    return owner.sighting.layout is not Layout.HUB_CACHE or inner.endswith(b".incomplete")
