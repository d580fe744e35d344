"""Goes through the folders of one walk and says what belongs to what.

The walk is depth first and in byte order, so an artifact's folder comes before its members and all of them before its
next sibling: a stack of open artifacts is all the state there is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.hidden_states import SAMPLE, single_shard
from artifactctl.recognition.manifests import MANIFEST_NAME, Manifest, read_manifest
from artifactctl.recognition.membership import is_transient, membership, takes_folder
from artifactctl.recognition.recognisers import recognise_file, recognise_folder
from artifactctl.recognition.seen import DIRECTORY, FILE, SYMLINK, Read, SeenEntry, SeenFolder, join, readable
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView
from artifactctl.recognition.vocab_maps import is_vocab_name

MOST_SINGLE_SHARDS = 1000
"""So many shards directly in a managed root become artifacts one by one; more are reported instead."""

_ONLY_AS_A_FOLDER = (Layout.HUGGING_FACE, Layout.ARROW_DATASET, Layout.MANIFEST, Layout.DISTRIBUTED)
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

    def has_members_below(self, artifact: bytes, folder: bytes) -> bool:
        """Whether members of the artifact at `artifact` are catalogued in `folder` or below it."""
        ...


class NothingCatalogued:
    """A catalog that knows nothing."""

    def artifact_at(self, relative: bytes) -> Sighting | None:
        return None

    def has_members_below(self, artifact: bytes, folder: bytes) -> bool:
        return False


@dataclass(slots=True)
class OpenArtifact:
    """An artifact whose folder is being walked; `sighting` is completed while its members pass.

    `is_catalogued`: the catalog knows it already, and which files are members is the catalog's to say.
    """

    sighting: Sighting
    is_catalogued: bool
    manifest: Manifest | None = None
    samples: int = 0
    problems: list[str] = field(default_factory=list)
    unfinished: bool = False
    _is_member: Callable[[bytes], bool] = field(init=False, repr=False)
    _manifest_folders: frozenset[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = self.manifest.sizes if self.manifest is not None else {}
        self._manifest_folders = frozenset(folder for path in sizes for folder in _ancestors(path))
        if self.manifest is not None:
            self._is_member = lambda inner: inner == MANIFEST_NAME or inner in sizes
        else:
            self._is_member = membership(self.sighting.layout, self.sighting.kind)

    @property
    def relative(self) -> bytes:
        """Where its top is."""
        return self.sighting.relative

    def inner(self, relative: bytes) -> bytes:
        """Return a path below it, relative to its top."""
        return relative[len(self.relative) + 1 :]

    def admits(self, inner: bytes) -> bool:
        """Whether the path, relative to its top, is a member by its layout."""
        return self.is_catalogued or self._is_member(inner)

    def takes_folder(self, inner: bytes) -> bool:
        """Whether a folder below it is part of it whatever it looks like by itself."""
        return inner in self._manifest_folders or takes_folder(self.sighting.layout, inner)

    def note_transient(self, name: bytes) -> None:
        """Remember that a lock or a half-written file lies among the members."""
        self.unfinished = True
        if len(self.problems) < 20:
            self.problems.append(f"{readable(name)}: something is still being written")

    def completed(self) -> Sighting:
        """Return the sighting with what its members added."""
        counts_samples = self.sighting.layout is Layout.SPECFORGE_DUMP and self.sighting.records is None
        return replace(
            self.sighting,
            records=self.samples if counts_samples else self.sighting.records,
            problems=(*self.sighting.problems, *self.problems),
            unfinished=self.sighting.unfinished or self.unfinished,
        )


def _ancestors(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSurveyed:
    """One folder. `owner` is the artifact it belongs to (it began here when `begins`), None when it is nobody's.

    `members` are the owner's; of a catalogued owner they are all entries, and the catalog says which are members.
    `files` are artifacts of their own. `strays` are regular files and links that belong to nothing.
    """

    folder: SeenFolder
    owner: OpenArtifact | None
    begins: bool
    members: tuple[SeenEntry, ...]
    files: tuple[tuple[Sighting, SeenEntry, bool], ...]
    strays: tuple[SeenEntry, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEnded:
    """All members of a folder artifact have passed."""

    artifact: OpenArtifact


def survey(
    folders: Iterable[SeenFolder], read: Read, catalogued: Catalogued | None = None
) -> Iterator[FolderSurveyed | ArtifactEnded]:
    """Yield every folder with what belongs to what, and the end of every folder artifact.

    `relative` b"" is the managed root itself, which is never an artifact.
    """
    known = catalogued or NothingCatalogued()
    stack: list[OpenArtifact] = []
    for folder in folders:
        while stack and not folder.relative.startswith(stack[-1].relative + b"/"):
            yield ArtifactEnded(artifact=stack.pop())
        surveyor = _FolderSurvey(folder, read, known, stack[-1] if stack else None)
        opened = surveyor.opened()
        if opened is not None:
            stack.append(opened)
        yield surveyor.sort_entries(opened)
    while stack:
        yield ArtifactEnded(artifact=stack.pop())


class _FolderSurvey:
    """The decisions about one folder."""

    def __init__(self, folder: SeenFolder, read: Read, known: Catalogued, around: OpenArtifact | None) -> None:
        self._folder = folder
        self._known = known
        self._around = around
        self._view = FolderView.of(folder, read)
        self._note = ""

    def opened(self) -> OpenArtifact | None:
        """Return the artifact that begins at this folder."""
        relative, around = self._folder.relative, self._around
        catalogued = self._known.artifact_at(relative)
        if catalogued is not None:
            return OpenArtifact(catalogued, is_catalogued=True)
        if around is not None and self._belongs_to(around):
            return None
        sighting = recognise_folder(self._view)
        if sighting is None:
            return None
        if not relative:
            if sighting.layout in _ONLY_AS_A_FOLDER:
                self._note = f"the root itself is a {sighting.kind.value} ({sighting.layout.value})"
            return None
        return OpenArtifact(sighting, is_catalogued=False, manifest=self._manifest(sighting))

    def _belongs_to(self, around: OpenArtifact) -> bool:
        if around.is_catalogued and self._known.has_members_below(around.relative, self._folder.relative):
            return True
        return around.takes_folder(around.inner(self._folder.relative))

    def _manifest(self, sighting: Sighting) -> Manifest | None:
        if sighting.layout is not Layout.MANIFEST:
            return None
        return read_manifest(self._view.read, self._view.path(MANIFEST_NAME), self._view.files[MANIFEST_NAME])

    def sort_entries(self, opened: OpenArtifact | None) -> FolderSurveyed:
        """Return every entry that is no folder under what it belongs to."""
        owner = opened or self._around
        members: list[SeenEntry] = []
        files: list[tuple[Sighting, SeenEntry, bool]] = []
        strays: list[SeenEntry] = []
        single_shards = self._takes_single_shards()
        for entry in self._folder.entries:
            if entry.type == DIRECTORY:
                continue
            catalogued = self._known.artifact_at(join(self._folder.relative, entry.name))
            if catalogued is not None:
                files.append((catalogued, entry, True))
            elif owner is not None and self._is_member(owner, entry):
                members.append(entry)
            elif (sighting := self._single(owner, entry, single_shards=single_shards)) is not None:
                files.append((sighting, entry, False))
            else:
                strays.append(entry)
        return FolderSurveyed(
            folder=self._folder,
            owner=owner,
            begins=opened is not None,
            members=tuple(members),
            files=tuple(files),
            strays=tuple(strays),
            note=self._note,
        )

    def _is_member(self, owner: OpenArtifact, entry: SeenEntry) -> bool:
        if owner.is_catalogued:
            return True
        inner = owner.inner(join(self._folder.relative, entry.name))
        if is_transient(entry.name) and owner.sighting.layout is not Layout.HUB_CACHE:
            owner.note_transient(inner)
            return False
        if entry.name.endswith(b".incomplete"):
            owner.note_transient(inner)
        carved_out = is_vocab_name(entry.name) and owner.sighting.kind in _DATA_KINDS
        if entry.type not in (FILE, SYMLINK) or carved_out or not owner.admits(inner):
            return False
        owner.samples += bool(SAMPLE.fullmatch(entry.name))
        return True

    def _single(self, owner: OpenArtifact | None, entry: SeenEntry, *, single_shards: bool) -> Sighting | None:
        if entry.type != FILE or (owner is not None and owner.is_catalogued):
            return None
        if single_shards and entry.name.endswith(b".safetensors"):
            return single_shard(self._view, entry.name)
        return recognise_file(self._view, entry.name)

    def _takes_single_shards(self) -> bool:
        if self._folder.relative or b"config.json" in self._view.files:
            return False
        shards = sum(1 for name in self._view.files if name.endswith(b".safetensors"))
        if shards > MOST_SINGLE_SHARDS:
            self._note = f"{shards} safetensors files lie directly in the root"
        return shards <= MOST_SINGLE_SHARDS
