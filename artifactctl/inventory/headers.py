"""What the headers of a copy's members say, and whether each can be read."""

from collections.abc import Callable
from dataclasses import dataclass, field

from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.copies import Copy
from artifactctl.inventory.known import layout_of
from artifactctl.inventory.redoing import Redoing, record_number
from artifactctl.recognition.contents import inspect
from artifactctl.recognition.manifests import MANIFEST_NAME, read_manifest
from artifactctl.recognition.recognisers import recognise_folder
from artifactctl.recognition.seen import Read, join
from artifactctl.recognition.sightings import Layout
from artifactctl.recognition.values import values_problem
from artifactctl.recognition.views import FolderView

Progress = Callable[[int], None]
"""progress(bytes read since the last call)."""

_CHECKED_AS_A_WHOLE = (Layout.HUGGING_FACE, Layout.DISTRIBUTED, Layout.SPECFORGE_TRAINING, Layout.VOCAB_MAP)
_CORPORA = (ArtifactKind.RESPONSE_SET, ArtifactKind.MERGED_CORPUS)
_STATE_SUFFIXES = (b".safetensors", b".ckpt", b".ckpt.gz")


@dataclass(slots=True, kw_only=True)
class Found:
    """Sums over all readable members; None where no member told."""

    tokens: int | None = None
    records: int | None = None
    problems: list[str] = field(default_factory=list)
    redoing: Redoing = field(default_factory=Redoing)

    def add(self, tokens: int | None, records: int | None) -> None:
        """Add what one member holds."""
        if tokens is not None:
            self.tokens = (self.tokens or 0) + tokens
        if records is not None:
            self.records = (self.records or 0) + records


def inspect_members(
    host: Host, artifact: Artifact, copy: Copy, *, reads_values: bool = False, progress: Progress | None = None
) -> Found:
    """Read the header of every member, and with `reads_values` all states; links are not followed, so not read."""
    found = Found()

    def read(relative: bytes, offset: int, length: int) -> bytes:
        return host.read_range(join(copy.path, relative) if relative else copy.path, offset, length)

    for relative, letter, size_bytes, _tokens in copy.members:
        if letter == "f":
            _inspect_one(host, artifact, copy, relative, size_bytes, found, reads_values=reads_values)
            if progress is not None and reads_values:
                progress(size_bytes)
    found.problems += _as_a_whole(artifact, copy, read)
    return found


def _inspect_one(
    host: Host, artifact: Artifact, copy: Copy, relative: bytes, size_bytes: int, found: Found, *, reads_values: bool
) -> None:
    path = join(copy.path, relative) if relative else copy.path
    contents = inspect(host.read_range, path, size_bytes)
    problems = list(contents.problems)
    is_hidden_states = artifact.kind is ArtifactKind.HIDDEN_STATES
    if is_hidden_states and path.endswith(_STATE_SUFFIXES):
        if not problems and contents.tokens is None:
            problems.append("it holds no hidden states")
        if not problems and reads_values:
            problems += filter(None, (values_problem(host.read_range, path, size_bytes),))
        found.redoing.add(relative, problems)
    label = display_path(relative or copy.path.rpartition(b"/")[2])
    found.problems += [f"{label}: {problem}" for problem in problems]
    is_sample = is_hidden_states and record_number(path) is not None and contents.tokens is not None
    found.add(contents.tokens if is_hidden_states else None, 1 if is_sample else contents.records)


def _as_a_whole(artifact: Artifact, copy: Copy, read: Read) -> list[str]:
    """Return what is wrong with an artifact although each member by itself is whole."""
    layout = layout_of(artifact)
    if copy.top is None:
        return []
    view = FolderView.of(copy.top, read)
    if layout is Layout.MANIFEST:
        return _against_manifest(view, copy)
    if layout not in _CHECKED_AS_A_WHOLE:
        return []
    sighting = recognise_folder(view)
    if sighting is None:
        return [f"it is no {layout.value} any more"]
    return list(sighting.problems)


def _against_manifest(view: FolderView, copy: Copy) -> list[str]:
    size_bytes = view.files.get(MANIFEST_NAME)
    manifest = read_manifest(view.read, MANIFEST_NAME, size_bytes) if size_bytes is not None else None
    if manifest is None:
        return ["its manifest is missing or unreadable"]
    pending = dict(manifest.sizes)
    problems = []
    for relative, _letter, found_bytes, _tokens in copy.members:
        listed_bytes = pending.pop(relative, found_bytes)
        if listed_bytes != found_bytes:
            problems.append(f"{display_path(relative)}: {found_bytes} bytes, its manifest says {listed_bytes}")
    return problems + [
        f"{display_path(relative)}: its manifest lists it, it is not there" for relative in sorted(pending)
    ]
