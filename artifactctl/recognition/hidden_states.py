"""Dumps of hidden states: safetensors shards, SpecForge samples, speculators samples.

Tokens of safetensors come from the headers of up to `MOST_HEADERS` files; larger folders stay uncounted during a scan
and say so, since a million small reads on a cold disk take an hour. The samples of SpecForge are one file each and are
never opened during a scan.
"""

import re

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.recognition import torch_archive
from artifactctl.recognition.contents import sample_tokens, tokens_of
from artifactctl.recognition.pickled_tensors import NotPlainTensors, describe
from artifactctl.recognition.safetensors_header import TornHeader, read_header, read_tensors_of_torn
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView

MOST_HEADERS = 20_000
MOST_PROBLEMS = 20
NOT_COUNTED = "not counted during a scan; `artifactctl verify` counts"

ROWS_FOLDER = re.compile(rb"rows_\d+-\d+")
SAMPLE = re.compile(rb"data_(\d+)\.ckpt(?:\.gz)?")
SPECULATORS_SAMPLE = re.compile(rb"hs_(\d+)\.safetensors")
SHARD = re.compile(rb".+\.safetensors")
_WEIGHTS_INDEX = re.compile(rb".*\.index\.json")


def specforge_dump(view: FolderView) -> Sighting | None:
    """Recognise `rows_A-B` folders with `data_N.ckpt` samples, or one such folder by itself."""
    holds_rows = any(ROWS_FOLDER.fullmatch(name) for name in view.directories)
    if not holds_rows and not _holds_samples(view):
        return None
    return Sighting(
        kind=ArtifactKind.HIDDEN_STATES,
        relative=view.relative,
        is_directory=True,
        layout=Layout.SPECFORGE_DUMP,
        details=(("tokens", NOT_COUNTED),),
    )


def _holds_samples(view: FolderView) -> bool:
    first = next(view.matching(SAMPLE), None)
    if first is None:
        return False
    return bool(ROWS_FOLDER.fullmatch(view.name)) or _is_sample(view, first)


def _is_sample(view: FolderView, name: bytes) -> bool:
    try:
        head = view.read(view.path(name), 0, torch_archive.GZIP_HEAD_BYTES)
        if name.endswith(b".gz"):
            head = torch_archive.gzip_head(view.read, view.path(name))
        return sample_tokens(describe(torch_archive.pickle_at_head(head))) is not None
    except (HostFailure, NotPlainTensors, torch_archive.TornArchive):
        return False


def safetensors_dump(view: FolderView) -> Sighting | None:
    """Recognise a folder of safetensors without config.json or index; kind `other` when they are no hidden states."""
    shards = tuple(view.matching(SHARD))
    if not shards or b"config.json" in view.files or any(view.matching(_WEIGHTS_INDEX)):
        return None
    speculators = any(SPECULATORS_SAMPLE.fullmatch(name) for name in shards)
    layout = Layout.SPECULATORS_DUMP if speculators else Layout.SAFETENSORS
    return _dump_of(view, shards, layout)


def single_shard(view: FolderView, name: bytes) -> Sighting | None:
    """Recognise one safetensors file as an artifact of its own (where its folder cannot be one)."""
    found = _dump_of(view, (name,), Layout.SAFETENSORS)
    if found is None:
        return None
    return Sighting(
        kind=found.kind,
        relative=view.path(name),
        is_directory=False,
        layout=found.layout,
        tokens=found.tokens,
        problems=found.problems,
        member_tokens=tuple((b"", tokens) for _name, tokens in found.member_tokens),
    )


def _dump_of(view: FolderView, shards: tuple[bytes, ...], layout: Layout) -> Sighting | None:
    survey = _HeaderSurvey(view)
    counted = view.counts_content and len(shards) <= MOST_HEADERS
    for name in shards if counted else (shards[0], shards[-1]):
        survey.look_at(name)
    if survey.readable_headers == 0:
        return None
    return Sighting(
        kind=ArtifactKind.HIDDEN_STATES if survey.all_hidden_states else ArtifactKind.OTHER,
        relative=view.relative,
        is_directory=True,
        layout=layout,
        tokens=sum(survey.tokens_by_name.values()) if survey.all_hidden_states and counted else None,
        details=() if counted else (("tokens", NOT_COUNTED),),
        problems=survey.problems(),
        member_tokens=tuple(survey.tokens_by_name.items()) if survey.all_hidden_states else (),
    )


class _HeaderSurvey:
    """Adds up what the headers of a folder's shards say."""

    def __init__(self, view: FolderView) -> None:
        self._view = view
        self._problems: list[str] = []
        self._torn = 0
        self.readable_headers = 0
        self.all_hidden_states = True
        self.tokens_by_name: dict[bytes, int] = {}

    def look_at(self, name: bytes) -> None:
        path, size_bytes = self._view.path(name), self._view.files[name]
        try:
            header = read_header(self._view.read, path, size_bytes)
        except TornHeader as torn:
            self._note(name, str(torn))
            self._look_at_torn(path, size_bytes)
            return
        except HostFailure as failure:
            self._note(name, f"cannot be read: {failure.message}")
            return
        self.readable_headers += 1
        contents = tokens_of(header)
        for problem in contents.problems:
            self._note(name, problem)
        if contents.tokens is not None:
            self.tokens_by_name[name] = contents.tokens
        self.all_hidden_states &= contents.tokens is not None or bool(contents.problems)

    def _look_at_torn(self, path: bytes, size_bytes: int) -> None:
        header = read_tensors_of_torn(self._view.read, path, size_bytes)
        if header is not None:
            self.readable_headers += 1
            self.all_hidden_states &= tokens_of(header).tokens is not None

    def _note(self, name: bytes, problem: str) -> None:
        self._torn += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(f"{display_path(name)}: {problem}")

    def problems(self) -> tuple[str, ...]:
        left_out = self._torn - len(self._problems)
        return (*self._problems, f"and {left_out} files more") if left_out else tuple(self._problems)
