"""Hugging Face folders: checkpoints of a training run, draft models, models, and the hub's cache."""

import re
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.recognition.safetensors_header import TornHeader, read_header
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.training_state import TrainingState, read_training_state
from artifactctl.recognition.views import FolderView, first_line

LARGEST_INDEX_BYTES = 64 * 1024 * 1024
MOST_PROBLEMS = 20

CHECKPOINT_FOLDER = re.compile(rb"checkpoint-(\d+)")
HUB_FOLDER = re.compile(rb"models--(?P<repo>.+)")
_WEIGHTS = re.compile(
    rb"(?:model|adapter_model|pytorch_model|diffusion_pytorch_model|consolidated).*\.(?:safetensors|bin|pth)"
    rb"|.+\.safetensors|tf_model\.h5|flax_model\.msgpack"
)
_INDEX = re.compile(rb".+\.(?:safetensors|bin)\.index\.json")
_OPTIMIZER = re.compile(rb"(?:optimizer|scheduler)[^/]*\.(?:pt|bin|pth|safetensors)")


def hub_cache(view: FolderView) -> Sighting | None:
    """Recognise `models--org--name`: one unit with its blobs, refs, snapshots and the links between them."""
    match = HUB_FOLDER.fullmatch(view.name)
    if match is None or not view.directories & {b"blobs", b"snapshots"}:
        return None
    details = [("repo", display_path(match["repo"]).replace("--", "/"))]
    if b"refs" in view.directories and (revision := first_line(view.read, view.path(b"refs/main"))):
        details.append(("revision", revision))
    return Sighting(
        kind=ArtifactKind.MODEL,
        relative=view.relative,
        is_directory=True,
        layout=Layout.HUB_CACHE,
        details=tuple(details),
    )


def model_folder(view: FolderView) -> Sighting | None:
    """Recognise weights with a config.json or an index, and any `checkpoint-N` that a trainer wrote."""
    is_numbered = CHECKPOINT_FOLDER.fullmatch(view.name) is not None
    has_index = any(view.matching(_INDEX))
    has_config = has_index or not view.files.keys().isdisjoint((b"config.json", b"adapter_config.json"))
    if not has_config and not is_numbered:
        return None
    has_weights = has_index or any(view.matching(_WEIGHTS))
    has_state = b"trainer_state.json" in view.files or any(view.matching(_OPTIMIZER))
    if not (has_weights and has_config) and not (is_numbered and (has_weights or has_state)):
        return None
    config = view.json_object(b"config.json", largest_bytes=LARGEST_INDEX_BYTES) or {}
    state = read_training_state(view)
    return Sighting(
        kind=_kind(config, is_checkpoint=is_numbered or has_state),
        relative=view.relative,
        is_directory=True,
        layout=Layout.HUGGING_FACE,
        details=(*_config_details(config), *state.details),
        metrics=_with_step(state, view.name),
        problems=(*state.problems, *_weight_problems(view, has_weights=has_weights)),
    )


def _kind(config: dict[str, Any], *, is_checkpoint: bool) -> ArtifactKind:
    if is_checkpoint:
        return ArtifactKind.CHECKPOINT
    return ArtifactKind.DRAFT_MODEL if is_draft(config) else ArtifactKind.MODEL


def is_draft(config: dict[str, Any]) -> bool:
    """Whether a model's config.json describes an EAGLE-3 draft."""
    architectures = config.get("architectures")
    named = architectures if isinstance(architectures, list) else []
    return any("eagle3" in str(name).lower() for name in named) or config.get("draft_vocab_size") is not None


def _config_details(config: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    details = [(key, str(config[key])) for key in ("model_type", "draft_vocab_size") if config.get(key) is not None]
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures:
        details.append(("architecture", str(architectures[0])))
    if is_draft(config):
        details.append(("is_draft", "yes"))
    return tuple(details)


def _with_step(state: TrainingState, folder: bytes) -> tuple[tuple[str, float], ...]:
    match = CHECKPOINT_FOLDER.fullmatch(folder)
    if match is None or any(name == "step" for name, _value in state.metrics):
        return state.metrics
    return (("step", float(match[1])), *state.metrics)


def _weight_problems(view: FolderView, *, has_weights: bool) -> tuple[str, ...]:
    if not has_weights:
        return ("it holds no weights",)
    problems = [*_torn(view), *_missing_from_index(view)]
    return tuple(problems[:MOST_PROBLEMS])


def _torn(view: FolderView) -> list[str]:
    problems = []
    for name in view.files if view.counts_content else ():
        if name.endswith(b".safetensors"):
            try:
                read_header(view.read, view.path(name), view.files[name])
            except TornHeader as torn:
                problems.append(f"{display_path(name)}: {torn}")
            except HostFailure as failure:
                problems.append(f"{display_path(name)}: cannot be read: {failure.message}")
    return problems


def _missing_from_index(view: FolderView) -> list[str]:
    problems = []
    for index in view.matching(_INDEX):
        content = view.json_object(index, largest_bytes=LARGEST_INDEX_BYTES)
        weight_map = (content or {}).get("weight_map")
        if not isinstance(weight_map, dict):
            problems.append(f"{display_path(index)}: it is no index of weights")
            continue
        listed = {str(name).encode("utf-8", "surrogateescape") for name in weight_map.values()}
        problems += [
            f"{display_path(name)}: the index lists it, it is not there" for name in sorted(listed - _names(view))
        ]
    return problems


def _names(view: FolderView) -> set[bytes]:
    return set(view.files) | set(view.links)
