"""Response sets and merged corpora: JSON lines, Parquet, Arrow datasets.

A corpus whose records are already tokenised with a loss mask is a merged corpus; one of conversations, prompts or texts
is a response set. A file of JSON lines with none of the usual keys (a log) is nothing.
"""

import re

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.recognition import parquet_footer, record_files
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView

LARGEST_DATASET_INFO_BYTES = 16 * 1024 * 1024
MOST_PROBLEMS = 20
_SUFFIXES = (*record_files.SUFFIXES, b".parquet")
PART = re.compile(rb"(?P<stem>.*?)[-_.]?\d{3,}(?P<of>-of-\d+)?(?P<suffix>\.jsonl(?:\.zst|\.gz)?|\.parquet)")
"""A numbered part of one corpus, such as `part-00003.jsonl` or `train-00000-of-00012.parquet`."""


def corpus_file(view: FolderView, name: bytes) -> Sighting | None:
    """Recognise one file as a corpus of its own."""
    return _corpus(view, view.path(name), (name,), is_directory=False)


def corpus_parts(view: FolderView) -> Sighting | None:
    """Recognise a folder whose corpus files are the numbered parts of one corpus."""
    names = tuple(name for name in view.files if is_corpus_name(name))
    matches = [PART.fullmatch(name) for name in names]
    stems = {(match["stem"], match["suffix"]) for match in matches if match is not None}
    if len(names) < 2 or None in matches or len(stems) != 1:
        return None
    return _corpus(view, view.relative, names, is_directory=True)


def is_corpus_name(name: bytes) -> bool:
    """Whether the name is one of a corpus file."""
    return name.endswith(_SUFFIXES)


def arrow_dataset(view: FolderView) -> Sighting | None:
    """Recognise what `datasets.save_to_disk` wrote."""
    if not {b"dataset_info.json", b"state.json"} <= view.files.keys():
        return None
    information = view.json_object(b"dataset_info.json", largest_bytes=LARGEST_DATASET_INFO_BYTES) or {}
    features = information.get("features")
    kind = record_files.kind_of_columns(frozenset(features)) if isinstance(features, dict) else None
    if kind is None:
        return None
    splits = information.get("splits")
    counts = [split.get("num_examples") for split in splits.values()] if isinstance(splits, dict) else []
    known = bool(counts) and all(isinstance(count, int) for count in counts)
    return Sighting(
        kind=kind,
        relative=view.relative,
        is_directory=True,
        layout=Layout.ARROW_DATASET,
        records=sum(counts) if known else None,
        details=() if known else (("records", "the dataset does not say"),),
    )


def _corpus(view: FolderView, relative: bytes, names: tuple[bytes, ...], *, is_directory: bool) -> Sighting | None:
    is_parquet = names[0].endswith(b".parquet")
    try:
        columns = _parquet_columns(view, names[0]) if is_parquet else _first_columns(view, names[0])
    except parquet_footer.TornFooter as torn:
        return _torn(relative, names[0], str(torn), is_directory=is_directory)
    except (record_files.TornRecords, HostFailure):
        return None
    kind = record_files.kind_of_columns(columns)
    if kind is None:
        return None
    count = _Count(view)
    for name in names:
        count.add(name)
    return Sighting(
        kind=kind,
        relative=relative,
        is_directory=is_directory,
        layout=Layout.PARQUET if is_parquet else Layout.JSON_LINES,
        records=count.records if count.is_complete else None,
        details=() if count.is_complete else (("records", "not counted during a scan; `artifactctl verify` counts"),),
        problems=tuple(count.problems[:MOST_PROBLEMS]),
    )


def _torn(relative: bytes, name: bytes, problem: str, *, is_directory: bool) -> Sighting:
    return Sighting(
        kind=ArtifactKind.OTHER,
        relative=relative,
        is_directory=is_directory,
        layout=Layout.PARQUET,
        details=(("kind", "unknown: its columns cannot be read"),),
        problems=(f"{display_path(name)}: {problem}",),
    )


def _first_columns(view: FolderView, name: bytes) -> frozenset[str]:
    return record_files.first_record_columns(view.read, view.path(name))


def _parquet_columns(view: FolderView, name: bytes) -> frozenset[str]:
    return frozenset(parquet_footer.read_footer(view.read, view.path(name), view.files[name]).columns)


class _Count:
    """Adds up the records of a corpus's files; incomplete as soon as one was too large to count."""

    def __init__(self, view: FolderView) -> None:
        self._view = view
        self.records = 0
        self.is_complete = view.counts_content
        self.problems: list[str] = []

    def add(self, name: bytes) -> None:
        if not self._view.counts_content:
            return
        if name.endswith(b".parquet"):
            self._add_parquet(name)
        elif self._view.files[name] > record_files.LARGEST_COUNTED_BYTES:
            self.is_complete = False
        else:
            self._add_lines(name)

    def _add_parquet(self, name: bytes) -> None:
        path = self._view.path(name)
        try:
            self.records += parquet_footer.read_footer(self._view.read, path, self._view.files[name]).rows
        except (parquet_footer.TornFooter, HostFailure) as error:
            self.problems.append(f"{display_path(name)}: {error}")

    def _add_lines(self, name: bytes) -> None:
        try:
            count = record_files.count_records(self._view.read, self._view.path(name))
        except HostFailure as failure:
            self.is_complete = False
            self.problems.append(f"{display_path(name)}: cannot be read: {failure.message}")
            return
        self.records += count.records
        if count.problem:
            self.problems.append(f"{display_path(name)}: {count.problem}")
