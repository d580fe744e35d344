"""An artifact while the walk passes through it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.text import display_path
from artifactctl.recognition.manifests import MANIFEST_NAME, Manifest
from artifactctl.recognition.membership import Test, membership, takes_folder
from artifactctl.recognition.sightings import Layout, Sighting

MOST_PROBLEMS = 20


@dataclass(slots=True)
class OpenArtifact:
    """An artifact whose folder is being walked; `sighting` is completed while its members pass.

    `is_catalogued`: the catalog knows it already, and which files are members is the catalog's to say.
    `is_declared`: a person said that this is one artifact, so every file below that is no other artifact's is a member.
    `fits` tests whether the layout by itself would have a path, relative to its top, as a member.
    """

    sighting: Sighting
    is_catalogued: bool
    is_declared: bool = False
    manifest: Manifest | None = None
    samples: int = 0
    problems: list[str] = field(default_factory=list)
    unfinished: bool = False
    fits: Test = field(init=False, repr=False)
    _manifest_folders: frozenset[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = self.manifest.sizes if self.manifest is not None else {}
        self._manifest_folders = frozenset(folder for path in sizes for folder in _ancestors(path))
        if self.manifest is not None:
            self.fits = lambda inner: inner == MANIFEST_NAME or inner in sizes
        else:
            self.fits = membership(self.sighting.layout, self.sighting.kind)

    @property
    def relative(self) -> bytes:
        """Where its top is."""
        return self.sighting.relative

    def inner(self, relative: bytes) -> bytes:
        """Return a path below it, relative to its top."""
        return relative[len(self.relative) + 1 :]

    @property
    def counts_samples(self) -> bool:
        """Whether its records are the samples that pass, since nothing else says how many there are."""
        return self.sighting.layout is Layout.SPECFORGE_DUMP and self.sighting.records is None

    def takes_folder(self, inner: bytes) -> bool:
        """Whether a folder below it is part of it whatever it looks like by itself."""
        return inner in self._manifest_folders or takes_folder(self.sighting.layout, inner)

    def lets_nest(self, inside: Sighting) -> bool:
        """Whether something recognised inside is an artifact of its own.

        Inside of what a person declared, what looks like the same kind of thing is part of it; a checkpoint never is.
        """
        if not self.is_declared:
            return True
        if self.sighting.kind is ArtifactKind.OTHER:
            return False
        return inside.kind is not self.sighting.kind or inside.kind is ArtifactKind.CHECKPOINT

    def note_transient(self, name: bytes) -> None:
        """Remember that a lock or a half-written file lies among the members."""
        self.unfinished = True
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{display_path(name)}: something is still being written")

    def completed(self) -> Sighting:
        """Return the sighting with what its members added."""
        return replace(
            self.sighting,
            records=self.samples if self.counts_samples else self.sighting.records,
            problems=(*self.sighting.problems, *self.problems),
            unfinished=self.sighting.unfinished or self.unfinished,
        )


def _ancestors(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path
