"""The weights of a draft as files: `model.safetensors` under the names that are served, and `draft.json`, its shape.

Weights are kept in bfloat16, whatever they were trained in, the map `t2d` and `d2t` beside them; the frozen embedding
is not. A name that is missing, or is none of the draft's, is an error: a server would ignore either.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from artifactctl.domain.errors import CheckFailed
from extract.publishing import sync_file
from extract.requirements import need
from train.draft import DraftConfig, DraftModel

WEIGHTS, SHAPE = "model.safetensors", "draft.json"
_PURPOSE = "reading and writing the weights of drafts"


def served_tensors(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a draft's state as it is kept: floating tensors in bfloat16, on the CPU, each with memory of its own."""
    return {
        name: (tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor).detach().cpu().clone().contiguous()
        for name, tensor in state.items()
    }


def write_draft(folder: Path, config: DraftConfig, state: Mapping[str, torch.Tensor]) -> None:
    """Write both files into an existing folder, durably."""
    save: Any = need("safetensors.torch", purpose=_PURPOSE, extra="train").save_file
    save(served_tensors(state), str(folder / WEIGHTS), metadata={"format": "pt"})
    with open(folder / WEIGHTS, "rb+") as weights:
        sync_file(weights)
    with open(folder / SHAPE, "wb") as shape:
        shape.write(json.dumps(config.as_json(), indent=1).encode() + b"\n")
        sync_file(shape)


def read_shape(folder: Path) -> DraftConfig:
    """Return the shape of the draft in a checkpoint's folder; CheckFailed where none is stated."""
    try:
        return DraftConfig.of_json(json.loads((folder / SHAPE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_whole_draft(folder, error) from error


def read_draft(folder: Path, embedding_VH: torch.Tensor) -> DraftModel:
    """Return the draft in a checkpoint's or draft's folder, in float32; CheckFailed where it is not whole."""
    return load_weights(folder, read_shape(folder), embedding_VH)


def load_weights(
    folder: Path, config: DraftConfig, embedding_VH: torch.Tensor, *, ignored: Collection[str] = ()
) -> DraftModel:
    """Return the draft of that shape whose weights lie in the folder; `ignored` names may be there. CheckFailed."""
    load: Any = need("safetensors.torch", purpose=_PURPOSE, extra="train").load_file
    try:
        state: dict[str, torch.Tensor] = {
            name: tensor for name, tensor in load(str(folder / WEIGHTS)).items() if name not in ignored
        }
        used = (state["d2t"] + torch.arange(config.draft_vocabulary)).tolist()
        model = DraftModel(config, used=used, embedding_VH=embedding_VH)
        model.load_state_dict(state, strict=True)
    except _not_whole() as error:
        raise _no_whole_draft(folder, error) from error
    return model


def _no_whole_draft(folder: Path, error: Exception) -> CheckFailed:
    return CheckFailed(f"{folder} holds no whole draft: {error}", remedy="give the folder or the name of a checkpoint")


def _not_whole() -> tuple[type[Exception], ...]:
    broken: type[Exception] = need("safetensors", purpose=_PURPOSE, extra="train").SafetensorError
    return (OSError, ValueError, KeyError, TypeError, RuntimeError, broken)
