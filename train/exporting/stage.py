"""Making an export out of a checkpoint as a stage of the pipeline.

1. The weights of the checkpoint are checked by name, shape and type, and its map against the one it was trained with.
2. The bytes are asked of the planner, then both files and the manifest are written aside, synced and checked again.
3. The folder gets its name, then it is registered: extracted from the checkpoint, useless without the map.

A run that was killed before the last step is brought to its end by the same command.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from artifactctl.api import Session
from artifactctl.api.formats import MANIFEST_NAME, MANIFEST_SCHEMA
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.errors import CheckFailed, UsageError
from extract.merging.sources import digest_of
from extract.publishing import folder_aside, is_free, publish, sync_file
from extract.requirements import need
from extract.shards.tensor_file import TensorFile
from extract.vocabulary.draft_map import DraftMap
from train.draft import DraftConfig
from train.exporting.checking import check_served, weight_problems
from train.exporting.layer_ids import layer_ids_for
from train.exporting.served import CONFIG, WEIGHTS, served_config
from train.fitting import TARGET_ARCHITECTURE, TARGET_BLOCKS, require_fit
from train.target import TargetConfig, read_target_config
from train.weights import read_shape, served_tensors

LONGEST_RUN = timedelta(hours=6)
_MANIFEST = MANIFEST_NAME.decode()
_MEMBERS = (CONFIG, WEIGHTS, _MANIFEST)
_ROOM_BESIDE_BYTES = 256 * 1024
_FORMAT = "artifactctl.draft_model/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """An export. `layer_ids` are what its config.json tells the server, None where that is left to it."""

    artifact: Artifact
    layers: tuple[int, ...]
    layer_ids: tuple[int, ...] | None
    draft_vocabulary: int
    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A checkpoint whose weights are whole; `mapped_with` is the name of its map, "" where none is catalogued."""

    artifact: Artifact
    folder: Path
    config: DraftConfig
    map_digest: str
    mapped_with: str


def trained_checkpoint(session: Session, word: str) -> Trained:
    """Return the checkpoint that a word means; UsageError when it is none, CheckFailed when it is not whole."""
    artifact = session.artifact(word)
    if artifact.kind is not ArtifactKind.CHECKPOINT:
        raise UsageError(f"{artifact.name} is a {artifact.kind.value}", remedy="name a checkpoint of `train run`")
    folder = Path(session.path(word).decode("utf-8", "surrogateescape"))
    config = read_shape(folder)
    problems = weight_problems(folder, config)
    if problems:
        raise CheckFailed(
            f"{artifact.name} holds no whole draft: {problems[0]}",
            remedy="export another checkpoint",
            further=problems[1:],
        )
    digest = _map_digest(folder)
    return Trained(
        artifact=artifact,
        folder=folder,
        config=config,
        map_digest=digest,
        mapped_with=_map_of(session, artifact, digest),
    )


def target_of(trained: Trained, target: Path | None) -> TargetConfig:
    """Return the shape of the target, as far as exports need it: from its files, or as `train run` recorded it."""
    if target is not None:
        return read_target_config(target)
    labels = dict(trained.artifact.labels)
    blocks = labels.get(TARGET_BLOCKS, "")
    if not blocks.isdecimal():
        raise UsageError(
            f"which model {trained.artifact.name} drafts for is not known", remedy="give --target DIR|FILE.gguf"
        )
    draft = trained.config
    return TargetConfig(
        hidden_size=draft.hidden_size,
        blocks=int(blocks),
        vocabulary=draft.target_vocabulary,
        intermediate_size=draft.intermediate_size,
        attention_heads=draft.attention_heads,
        key_value_heads=draft.key_value_heads,
        head_size=draft.head_size,
        norm_epsilon=draft.norm_epsilon,
        rope_theta=draft.rope_theta,
        longest_positions=draft.longest_positions,
        architecture=labels.get(TARGET_ARCHITECTURE, ""),
    )


def export_checkpoint(session: Session, trained: Trained, place: Path, target: TargetConfig, *, name: str) -> Exported:
    """Write and register the export; Refused when the draft is none of this target, or the place is taken."""
    require_fit(trained.artifact.name, trained.config, target)
    ids = layer_ids_for(trained.config.layers, blocks=target.blocks, architecture=target.architecture)
    session.require_place(place)
    with session.lease([trained.artifact.name], until=session.now + LONGEST_RUN):
        about = _about(trained)
        if is_free(place):
            _write(session, trained, place, served_config(trained.config, layer_ids=ids), about)
        elif not _is_that(place, about):
            raise UsageError(f"{place} is there already, and is not this export", remedy="give another --out")
        artifact = session.register(
            place, kind=ArtifactKind.DRAFT_MODEL, name=name, inputs=_inputs(trained), labels=_labels(trained)
        )
    return Exported(
        artifact=artifact,
        layers=trained.config.layers,
        layer_ids=ids,
        draft_vocabulary=trained.config.draft_vocabulary,
        tensors=_tensor_count(place),
        size_bytes=sum((place / each).stat().st_size for each in _MEMBERS),
    )


def _write(
    session: Session, trained: Trained, place: Path, config: Mapping[str, Any], about: Mapping[str, Any]
) -> None:
    weights_bytes = (trained.folder / WEIGHTS).stat().st_size
    promise = session.reserve(
        next(each for each in place.absolute().parents if each.exists()),
        reserved_bytes=weights_bytes + _ROOM_BESIDE_BYTES,
        files=len(_MEMBERS),
        purpose=f"export to {place.absolute()}",
        until=session.now + LONGEST_RUN,
    )
    try:
        with folder_aside(place, _MEMBERS) as aside:
            _write_weights(trained.folder / WEIGHTS, aside / WEIGHTS)
            _write_json(aside / CONFIG, config)
            _write_json(aside / _MANIFEST, _manifest(aside, about))
            check_served(aside)
            publish(aside, place)
    finally:
        session.release(promise)


def _write_weights(source: Path, target: Path) -> None:
    torch_files = need("safetensors.torch", purpose="writing the weights of drafts")
    state = torch_files.load_file(str(source))
    torch_files.save_file(served_tensors(state), str(target), metadata={"format": "pt"})
    with open(target, "rb+") as file:
        sync_file(file)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with open(path, "wb") as file:
        file.write(json.dumps(content, indent=2).encode() + b"\n")
        sync_file(file)


def _manifest(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    members = [{"path": name, "size_bytes": (folder / name).stat().st_size} for name in (CONFIG, WEIGHTS)]
    return {
        "schema": MANIFEST_SCHEMA,
        "kind": ArtifactKind.DRAFT_MODEL.value,
        "tokens": None,
        "records": None,
        "members": members,
        "draft": dict(about),
    }


def _about(trained: Trained) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "checkpoint": trained.artifact.name,
        "checkpoint_sha256": digest_of(trained.folder / WEIGHTS),
        "map_digest": trained.map_digest,
        "layers": list(trained.config.layers),
    }


def _is_that(place: Path, about: Mapping[str, Any]) -> bool:
    """Whether the export is there already, complete: a run that was killed had given it its name."""
    try:
        check_served(place)
        return bool(json.loads((place / _MANIFEST).read_bytes())["draft"] == about)
    except (CheckFailed, OSError, ValueError, KeyError, TypeError):
        return False


def _inputs(trained: Trained) -> list[str]:
    inputs = [f"{trained.artifact.name}:{LineageRole.EXTRACTED_FROM.value}"]
    return [*inputs, f"{trained.mapped_with}:{LineageRole.MAPPED_WITH.value}"] if trained.mapped_with else inputs


def _labels(trained: Trained) -> dict[str, str]:
    return {"layers": ",".join(map(str, trained.config.layers)), "map": trained.map_digest}


def _map_digest(folder: Path) -> str:
    with TensorFile(folder / WEIGHTS, broken=lambda said: CheckFailed(f"{folder / WEIGHTS} {said}")) as weights:
        offsets, mask = weights.elements("d2t"), weights.elements("t2d")
    return DraftMap.of_tensors(offsets.tolist(), mask.tolist()).content_digest


def _map_of(session: Session, checkpoint: Artifact, digest: str) -> str:
    """Return the name of the map that the checkpoint needs; CheckFailed when its weights have another one."""
    maps = [parent for parent, role in session.parents(checkpoint) if role is LineageRole.MAPPED_WITH]
    for each in maps:
        said = dict(each.labels).get("content", digest)
        if said != digest:
            raise CheckFailed(
                f"{checkpoint.name} holds another vocabulary map than {each.name}, which it is catalogued with",
                remedy=f"artifactctl lineage {checkpoint.name}",
            )
    return maps[0].name if maps else ""


def _tensor_count(place: Path) -> int:
    with TensorFile(place / WEIGHTS, broken=lambda said: CheckFailed(f"{place / WEIGHTS} {said}")) as weights:
        return len(weights.header.tensors)
