"""Goes through the folders of one walk and says what belongs to what.

The walk is depth first and in byte order, so an artifact's folder comes before its members and all of them before its
next sibling: a stack of open artifacts is all the state there is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from artifactctl.recognition.declarations import Declaration
from artifactctl.recognition.manifests import MANIFEST_NAME, Manifest, read_manifest
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.recognisers import recognise_folder
from artifactctl.recognition.seen import Read, SeenFolder
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.sorting import Catalogued, NothingCatalogued, SortedEntry, Sorting
from artifactctl.recognition.views import FolderView

MOST_SINGLE_SHARDS = 1000
"""So many shards directly in a managed root become artifacts one by one; more are reported instead."""

_ONLY_AS_A_FOLDER = (Layout.HUGGING_FACE, Layout.ARROW_DATASET, Layout.MANIFEST, Layout.DISTRIBUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSurveyed:
    """One folder. `owner` is the artifact it belongs to (it began here when `begins`), None when it is nobody's."""

    folder: SeenFolder
    owner: OpenArtifact | None
    begins: bool
    entries: tuple[SortedEntry, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEnded:
    """All members of a folder artifact have passed."""

    artifact: OpenArtifact


def survey(
    folders: Iterable[SeenFolder],
    read: Read,
    catalogued: Catalogued | None = None,
    declared: Declaration | None = None,
    *,
    counts_content: bool = True,
) -> Iterator[FolderSurveyed | ArtifactEnded]:
    """Yield every folder with what belongs to what, and the end of every folder artifact.

    `relative` b"" is the managed root itself, which is never an artifact. What a person declares to be one artifact is
    one, with every file below it that is not another artifact's. `counts_content` false: records and tokens are not
    counted, and only the headers that recognising needs are read.
    """
    known = catalogued or NothingCatalogued()
    stack: list[OpenArtifact] = []
    for folder in folders:
        while stack and not folder.relative.startswith(stack[-1].relative + b"/"):
            yield ArtifactEnded(artifact=stack.pop())
        view = FolderView.of(folder, read, counts_content=counts_content)
        surveyor = _FolderSurvey(folder, view, known, stack[-1] if stack else None, declared)
        opened = surveyor.opened()
        if opened is not None:
            stack.append(opened)
        yield surveyor.sort_entries(opened)
    while stack:
        yield ArtifactEnded(artifact=stack.pop())


class _FolderSurvey:
    """The decisions about one folder."""

    def __init__(
        self,
        folder: SeenFolder,
        view: FolderView,
        known: Catalogued,
        around: OpenArtifact | None,
        declared: Declaration | None,
    ) -> None:
        self._folder = folder
        self._known = known
        self._around = around
        self._declared = declared
        self._view = view
        self._note = ""

    def opened(self) -> OpenArtifact | None:
        """Return the artifact that begins at this folder."""
        relative, around = self._folder.relative, self._around
        catalogued = self._known.artifact_at(relative)
        if catalogued is not None:
            return self._catalogued(catalogued)
        if self._declared is not None and self._declared.relative == relative:
            stated = self._declared.applied_to(recognise_folder(self._view), is_directory=True)
            return OpenArtifact(stated, is_catalogued=False, is_declared=True)
        if around is not None and self._belongs_to(around):
            return None
        sighting = recognise_folder(self._view)
        if sighting is None or (around is not None and not around.lets_nest(sighting)):
            return None
        if not relative:
            if sighting.layout in _ONLY_AS_A_FOLDER:
                self._note = f"the root itself is a {sighting.kind.value} ({sighting.layout.value})"
            return None
        return OpenArtifact(sighting, is_catalogued=False, manifest=self._manifest(sighting))

    def _catalogued(self, catalogued: Sighting) -> OpenArtifact:
        """Open a catalogued artifact; one that was unfinished is recognised anew, since it has grown meanwhile."""
        anew = recognise_folder(self._view) if catalogued.unfinished else None
        if anew is None:
            return OpenArtifact(catalogued, is_catalogued=True)
        return OpenArtifact(anew, is_catalogued=False, manifest=self._manifest(anew))

    def _belongs_to(self, around: OpenArtifact) -> bool:
        if around.is_catalogued and self._known.has_members_below(around.relative, self._folder.relative):
            return True
        return around.takes_folder(around.inner(self._folder.relative))

    def _manifest(self, sighting: Sighting) -> Manifest | None:
        if sighting.layout is not Layout.MANIFEST:
            return None
        return read_manifest(self._view.read, self._view.path(MANIFEST_NAME), self._view.files[MANIFEST_NAME])

    def sort_entries(self, opened: OpenArtifact | None) -> FolderSurveyed:
        """Return every entry with what it belongs to."""
        owner = opened or self._around
        sorting = Sorting(
            self._view, owner, self._known, self._declared, takes_single_shards=self._takes_single_shards()
        )
        return FolderSurveyed(
            folder=self._folder,
            owner=owner,
            begins=opened is not None,
            entries=sorting.sorted(self._folder.entries),
            note=self._note,
        )

    def _takes_single_shards(self) -> bool:
        if self._folder.relative or b"config.json" in self._view.files:
            return False
        shards = sum(1 for name in self._view.files if name.endswith(b".safetensors"))
        if shards > MOST_SINGLE_SHARDS:
            self._note = f"{shards} safetensors files lie directly in the root"
        return shards <= MOST_SINGLE_SHARDS
