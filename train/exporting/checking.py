"""Whether a folder is a draft that SGLang serves as it was trained; all that is wrong is told at once."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artifactctl.api.formats import TensorSpec
from artifactctl.domain.errors import CheckFailed
from extract.shards.tensor_file import TensorFile
from train.draft import DraftConfig
from train.exporting.served import (
    CONFIG,
    EMBEDDING,
    WEIGHTS,
    captured_layers,
    config_problems,
    draft_config,
    served_shapes,
)

_FLOATING = ("BF16", "F16", "F32")
_REMEDY = "`artifactctl train export` writes it anew from the checkpoint"


def check_served(folder: Path) -> dict[str, Any]:
    """Return the content of its config.json; CheckFailed with everything that is wrong with the folder."""
    try:
        content = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError) as error:
        raise CheckFailed(f"{folder} is no draft: its {CONFIG} cannot be read: {error}", remedy=_REMEDY) from error
    if not isinstance(content, dict):
        raise CheckFailed(f"{folder} is no draft: its {CONFIG} is no object", remedy=_REMEDY)
    problems = config_problems(content)
    if not problems:
        # The numbers of the layers decide no shape, how many they are does.
        config = draft_config(content, layers=tuple(range(captured_layers(content))))
        problems = weight_problems(folder, config)
    if problems:
        raise CheckFailed(
            f"{folder} cannot be served as it was trained: {problems[0]}", remedy=_REMEDY, further=problems[1:]
        )
    return content


def weight_problems(folder: Path, config: DraftConfig) -> list[str]:
    """Return what is wrong with the tensors in a folder, for a draft of that shape."""
    return list(_weight_problems(folder, config))


def _weight_problems(folder: Path, config: DraftConfig) -> Iterator[str]:
    try:
        with TensorFile(folder / WEIGHTS, broken=lambda said: CheckFailed(f"{WEIGHTS} {said}")) as weights:
            found = weights.header.tensors
            yield from _tensor_problems(found, config)
            if _is_map(found):
                yield from _map_problems(weights, config)
    except OSError as error:
        yield f"{WEIGHTS} cannot be read: {error}"
    except CheckFailed as torn:
        yield torn.message


def _tensor_problems(found: Mapping[str, TensorSpec], config: DraftConfig) -> Iterator[str]:
    wanted = served_shapes(config)
    allowed = wanted | {EMBEDDING: (config.target_vocabulary, config.hidden_size)}
    for name in sorted(wanted.keys() - found.keys()):
        yield f"the tensor {name} is missing: a server would serve it as it was drawn"
    for name in sorted(found.keys() - allowed.keys()):
        yield f"the tensor {name} is unknown: a server would ignore it"
    for name in sorted(found.keys() & allowed.keys()):
        kinds = {"t2d": ("BOOL",), "d2t": ("I64",)}.get(name, _FLOATING)
        if found[name].dtype not in kinds:
            yield f"the tensor {name} is {found[name].dtype}, not {' or '.join(kinds)}"
        if found[name].shape != allowed[name]:
            yield f"the tensor {name} has the shape {list(found[name].shape)}, not {list(allowed[name])}"


def _is_map(found: Mapping[str, TensorSpec]) -> bool:
    return all(name in found and found[name].dtype == kind for name, kind in (("t2d", "BOOL"), ("d2t", "I64")))


def _map_problems(weights: TensorFile, config: DraftConfig) -> Iterator[str]:
    """Yield unless nonzero(t2d) = d2t + arange(D), ascending and within the target's vocabulary."""
    used = [int(offset) + draft for draft, offset in enumerate(weights.elements("d2t"))]
    shown = weights.elements("t2d").nonzero()[0].tolist()
    if sorted(set(used)) != used or not used or used[0] < 0 or used[-1] >= config.target_vocabulary:
        yield "d2t does not give ascending tokens of the target"
    elif used != shown:
        yield "t2d and d2t name different tokens"
