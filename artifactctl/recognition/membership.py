"""Which files belong to an artifact of a given layout.

Members are deleted together with their artifact, so only what the layout is known to consist of belongs; notes, scripts
and logs that a person put beside it are strays until `scan --accept` or `register` says otherwise.
"""

import re
from collections.abc import Callable

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.sightings import Layout

_JSON = rb"[^/]+\.json"
_CARD = rb"README(?:\.md)?|LICENSE[^/]*|NOTICE[^/]*|\.gitattributes|\.gitignore"

_MEMBERS: dict[Layout, re.Pattern[bytes]] = {
    Layout.SAFETENSORS: re.compile(rb"[^/]+\.safetensors|" + _JSON),
    Layout.SPECULATORS_DUMP: re.compile(rb"hs_\d+\.safetensors|" + _JSON),
    Layout.SPECFORGE_DUMP: re.compile(rb"(?:rows_\d+-\d+/)?data_\d+\.ckpt(?:\.gz)?|" + _JSON),
    Layout.VOCAB_MAP: re.compile(rb"(?:t2d|d2t|vocab_mapping|token_freq)[^/]*\.(?:pt|npy)|" + _JSON),
    Layout.JSON_LINES: re.compile(rb"[^/]+\.jsonl(?:\.zst|\.gz)?|" + _JSON),
    Layout.PARQUET: re.compile(rb"[^/]+\.parquet|" + _JSON),
    Layout.ARROW_DATASET: re.compile(rb"[^/]+\.arrow|" + _JSON),
    Layout.DEEPSPEED: re.compile(rb"[^/]+\.pt|" + _JSON),
    Layout.DISTRIBUTED: re.compile(rb"[^/]+\.distcp|\.metadata|[^/]+\.pt|" + _JSON),
    Layout.SPECFORGE_TRAINING: re.compile(rb"training_state[^/]*\.pt|" + _JSON),
    Layout.TORCH_FILE: re.compile(rb"[^/]+\.(?:pt|pth|ckpt)|" + _JSON),
}

_HUGGING_FACE = re.compile(
    rb"[^/]+\.(?:safetensors|bin|pt|pth|h5|msgpack|json|jinja|model|tiktoken|spm|yaml|yml)"
    rb"|(?:merges|vocab|added_tokens|special_tokens|train_command)\.txt"
    rb"|latest|zero_to_fp32\.py|" + _CARD
)
_HUGGING_FACE_FOLDERS = re.compile(rb"(?:global_step\d+|\d+_[A-Z]\w*|onnx|original|\.cache/huggingface)(?:/.*)?")
_MODEL_EXTRAS = re.compile(
    rb"(?:modeling|configuration|tokenization|processing|image_processing|video_processing|feature_extraction)_\w+\.py"
    rb"|\w+_(?:processor|processing|utils|tokenizer)\.py"
    rb"|[^/]+\.(?:md|png|jpg|jpeg|svg|pdf|onnx|gguf)|(?:figures|assets|docs)/.+"
)
_TRANSIENT = (b".lock", b".partial", b".part", b".incomplete", b".tmp", b".temp")

_ROWS_FOLDER = re.compile(rb"rows_\d+-\d+")


Test = Callable[[bytes], object]
"""Asked about a path relative to an artifact, for every file of a tree; any true answer is a yes."""


def membership(layout: Layout, kind: ArtifactKind) -> Test:
    """Return the test whether a path relative to the artifact is one of its members."""
    if layout in (Layout.HUB_CACHE, Layout.DECLARED):
        return lambda _inner: True
    if layout is Layout.HUGGING_FACE:
        return _in_model if kind is ArtifactKind.MODEL else _in_checkpoint
    pattern = _MEMBERS.get(layout)
    if pattern is None:
        return lambda _inner: False
    return pattern.fullmatch


def _in_checkpoint(inner: bytes) -> bool:
    return bool(_HUGGING_FACE.fullmatch(inner) or _HUGGING_FACE_FOLDERS.fullmatch(inner))


def _in_model(inner: bytes) -> bool:
    return _in_checkpoint(inner) or _MODEL_EXTRAS.fullmatch(inner) is not None


def takes_folder(layout: Layout, inner: bytes) -> bool:
    """Whether a folder inside an artifact is part of it by its layout, whatever it looks like by itself."""
    if layout is Layout.HUB_CACHE:
        return True
    if layout is Layout.HUGGING_FACE:
        return _HUGGING_FACE_FOLDERS.fullmatch(inner) is not None
    return layout is Layout.SPECFORGE_DUMP and _ROWS_FOLDER.fullmatch(inner) is not None


def is_transient(name: bytes) -> bool:
    """Whether the name is one that writers give to locks and half-written files."""
    return name.endswith(_TRANSIENT)
