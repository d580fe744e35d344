"""Checkpoints as folders: complete or absent, without pickles, removed by nobody here.

`step-NNNNNNNN/` holds `model.safetensors` and `draft.json` (`weights`), `optimizer.safetensors` (masters and moments),
`state.json` and, written last, `manifest.json` with the size of each. All are written in a folder aside, synced, and
get their name by one rename: what has its name is whole. Everything random in a run follows from its seed and the
number of the step, so both together are the state of its randomness and its place in the data.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from artifactctl.api.formats import MANIFEST_NAME, MANIFEST_SCHEMA
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import CheckFailed
from extract.publishing import folder_aside, listed_names, publish, sync_file
from extract.requirements import need
from train.draft import DraftModel
from train.optimizing import restore, state_tensors
from train.weights import SHAPE, WEIGHTS, write_draft

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"
MANIFEST = os.fsdecode(MANIFEST_NAME)
MEMBERS = (WEIGHTS, SHAPE, OPTIMIZER, STATE, MANIFEST)
SCHEMA = "artifactctl.training_state/1"
_FOLDER = re.compile(r"step-(\d{8,})")
_PURPOSE = "reading and writing checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """Where a run is after `step` steps. `identity` is all that decides it, `metrics` what was measured last."""

    step: int
    records_drawn: int
    identity: Mapping[str, str]
    settings: Mapping[str, Any]
    metrics: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in `state.json`."""
        return {
            "schema": SCHEMA,
            "step": self.step,
            "records_drawn": self.records_drawn,
            "random": {"seed": self.settings["seed"], "step": self.step},
            "identity": dict(self.identity),
            "settings": dict(self.settings),
            "metrics": dict(self.metrics),
        }


def place_of(folder: Path, step: int) -> Path:
    """Return where the checkpoint after so many steps is."""
    return folder / f"step-{step:08d}"


def write_checkpoint(
    folder: Path, draft: DraftModel, optimizer: torch.optim.Optimizer, state: TrainingState
) -> tuple[Path, int]:
    """Write a checkpoint; return its place and its bytes. UsageError when there is something at the place already."""
    save: Any = need("safetensors.torch", purpose=_PURPOSE, extra="train").save_file
    place = place_of(folder, state.step)
    with folder_aside(place, MEMBERS) as aside:
        write_draft(aside, draft.config, draft.state_dict())
        save(state_tensors(draft, optimizer), str(aside / OPTIMIZER))
        with open(aside / OPTIMIZER, "rb+") as file:
            sync_file(file)
        _write_json(aside / STATE, state.as_json())
        sizes = {name: (aside / name).stat().st_size for name in MEMBERS if name != MANIFEST}
        _write_json(aside / MANIFEST, _manifest(sizes))
        size_bytes = sum(sizes.values()) + (aside / MANIFEST).stat().st_size
        publish(aside, place)
    return place, size_bytes


def complete_checkpoints(folder: Path) -> tuple[tuple[int, Path], ...]:
    """Return (step, place) of the checkpoints that are whole, ascending."""
    names = listed_names(folder) if folder.is_dir() else []
    found = [(int(match[1]), folder / name) for name in names if (match := _FOLDER.fullmatch(name))]
    return tuple((step, place) for step, place in sorted(found) if _is_whole(place))


def read_state(place: Path) -> TrainingState:
    """Return the state in a checkpoint; CheckFailed when there is none of ours."""
    try:
        content = json.loads((place / STATE).read_bytes())
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}")
        return TrainingState(
            step=int(content["step"]),
            records_drawn=int(content["records_drawn"]),
            identity={str(name): str(said) for name, said in content["identity"].items()},
            settings=dict(content["settings"]),
            metrics={str(name): float(value) for name, value in content["metrics"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckFailed(
            f"{place} is no checkpoint of a training run: {error}", remedy="give the folder of a checkpoint"
        ) from error


def restore_checkpoint(place: Path, draft: DraftModel, optimizer: torch.optim.Optimizer) -> None:
    """Put weights and moments back, bit for bit; CheckFailed when they are not those of this draft."""
    load: Any = need("safetensors.torch", purpose=_PURPOSE, extra="train").load_file
    broken: type[Exception] = need("safetensors", purpose=_PURPOSE, extra="train").SafetensorError
    try:
        restore(draft, optimizer, load(str(place / OPTIMIZER)), steps_done=read_state(place).step)
    except (OSError, KeyError, RuntimeError, broken) as error:
        raise CheckFailed(
            f"{place / OPTIMIZER} does not fit this draft: {error}", remedy="resume from another checkpoint"
        ) from error


def _manifest(sizes: Mapping[str, int]) -> dict[str, Any]:
    members = [{"path": name, "size_bytes": size_bytes} for name, size_bytes in sizes.items()]
    return {
        "schema": MANIFEST_SCHEMA,
        "kind": ArtifactKind.CHECKPOINT.value,
        "tokens": None,
        "records": None,
        "members": members,
    }


def _is_whole(place: Path) -> bool:
    try:
        members = json.loads((place / MANIFEST).read_bytes())["members"]
        return all((place / each["path"]).stat().st_size == each["size_bytes"] for each in members)
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return False


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    with open(file, "wb") as opened:
        opened.write(json.dumps(content, indent=1).encode() + b"\n")
        sync_file(opened)
