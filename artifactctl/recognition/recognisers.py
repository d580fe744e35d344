"""The recognisers in the order in which they are asked; the first that answers decides."""

import re
from collections.abc import Callable

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.recognition import checkpoints, corpora, hidden_states, huggingface, manifests, vocab_maps
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView

FOLDER_RECOGNISERS: tuple[Callable[[FolderView], Sighting | None], ...] = (
    huggingface.hub_cache,
    manifests.manifested,
    checkpoints.deepspeed,
    checkpoints.torch_distributed,
    checkpoints.specforge_training,
    huggingface.model_folder,
    hidden_states.specforge_dump,
    hidden_states.safetensors_dump,
    vocab_maps.vocab_folder,
    corpora.arrow_dataset,
    corpora.corpus_parts,
)

MANY_TORCH_FILES = 200
"""From so many torch files on, a folder is one artifact; opening each would make a scan crawl."""

TORCH_NAME = re.compile(rb".+\.(?:pt|pth|ckpt)")
_GGUF_MAGIC = b"GGUF"


def recognise_folder(view: FolderView) -> Sighting | None:
    """Return what the folder is, None when it is not one artifact."""
    for recognise in (*FOLDER_RECOGNISERS, many_torch_files):
        try:
            found = recognise(view)
        except HostFailure:
            continue  # what cannot be read is not recognised; the walk or `verify` names the failure
        if found is not None:
            return found
    return None


def recognise_file(view: FolderView, name: bytes) -> Sighting | None:
    """Return what a single file is, None when it is no artifact."""
    if vocab_maps.is_vocab_name(name):
        return vocab_maps.vocab_file(view, name)
    if corpora.is_corpus_name(name):
        return corpora.corpus_file(view, name)
    if TORCH_NAME.fullmatch(name):
        return checkpoints.torch_file(view, name)
    if name.endswith(b".gguf"):
        return _gguf(view, name)
    return None


def many_torch_files(view: FolderView) -> Sighting | None:
    """Recognise a folder of very many torch files as one artifact of kind `other`."""
    if len(view.files) < MANY_TORCH_FILES:
        return None
    names = [name for name in view.matching(TORCH_NAME) if not vocab_maps.is_vocab_name(name)]
    if len(names) < MANY_TORCH_FILES:
        return None
    return Sighting(
        kind=ArtifactKind.OTHER,
        relative=view.relative,
        is_directory=True,
        layout=Layout.TORCH_FILE,
        details=(("content", "not read"),),
    )


def _gguf(view: FolderView, name: bytes) -> Sighting | None:
    try:
        is_model = view.read(view.path(name), 0, 4) == _GGUF_MAGIC
    except HostFailure:
        return None
    if not is_model:
        return None
    return Sighting(kind=ArtifactKind.MODEL, relative=view.path(name), is_directory=False, layout=Layout.GGUF)
