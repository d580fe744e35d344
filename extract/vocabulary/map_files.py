"""Maps as files: `t2d.pt` and `d2t.pt` as the serving engines read them; the other packagings are read as well.

Others: `vocab_mapping*.pt` with both tensors (SpecForge), `t2d*.npy` and `d2t*.npy` (speculators). Torch files are read
without running anything that stands in them.
"""

import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artifactctl.domain.errors import UsageError
from extract.publishing import listed_names, sync_file
from extract.requirements import need
from extract.vocabulary.draft_map import BrokenMap, DraftMap

T2D, D2T, ABOUT = "t2d.pt", "d2t.pt", "vocab_map.json"
MEMBERS = (T2D, D2T, ABOUT)
_BOTH = re.compile(r"vocab_mapping.*\.pt")
_HALF = re.compile(r"(t2d|d2t)(?:-\d+)?\.(pt|npy)")


def write_map(folder: Path, draft_map: DraftMap, about: dict[str, Any]) -> None:
    """Write both tensors, and beside them what they were made from, durably."""
    torch = need("torch", purpose="writing t2d.pt and d2t.pt")
    tensors = {
        T2D: torch.tensor(draft_map.t2d, dtype=torch.bool),
        D2T: torch.tensor(draft_map.d2t, dtype=torch.int64),
    }
    for name, tensor in tensors.items():
        with open(folder / name, "wb") as file:
            torch.save(tensor, file)
            sync_file(file)
    with open(folder / ABOUT, "wb") as file:
        file.write(json.dumps(about, indent=1).encode() + b"\n")
        sync_file(file)


def read_map(place: Path) -> DraftMap:
    """Return the map in a folder or file; UsageError when there is none, or when its halves contradict each other."""
    try:
        tensors = _tensors(place)
        if tensors.keys() < {"t2d", "d2t"}:
            raise BrokenMap(f"it has {next(iter(tensors))} alone" if tensors else "it has neither t2d nor d2t")
        return DraftMap.of_tensors(tensors["d2t"], tensors["t2d"])
    except (BrokenMap, pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise UsageError(
            f"{place} is no vocabulary map: {error}", remedy="give a folder with t2d.pt and d2t.pt"
        ) from error


def _tensors(place: Path) -> dict[str, Sequence[int]]:
    names = listed_names(place) if place.is_dir() else [place.name]
    folder = place if place.is_dir() else place.parent
    both = [name for name in names if _BOTH.fullmatch(name)]
    halves = {match[1]: name for name in names if (match := _HALF.fullmatch(name))}
    if len(halves) < 2 and both:
        content = _load(folder / both[0])
        if not isinstance(content, dict):
            raise BrokenMap(f"{both[0]} holds no `t2d` and `d2t`")
        return {key: _flat(key, content[key]) for key in ("t2d", "d2t") if key in content}
    return {half: _flat(half, _load(folder / name)) for half, name in halves.items()}


def _load(path: Path) -> Any:
    if path.suffix == ".npy":
        return need("numpy", purpose="reading a map in .npy files").load(path, allow_pickle=False)
    torch = need("torch", purpose="reading a map in .pt files")
    return torch.load(path, map_location="cpu", weights_only=True)


def _flat(half: str, tensor: Any) -> Sequence[int]:
    shape, element = getattr(tensor, "shape", ()), str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    if len(shape) != 1 or element != {"t2d": "bool", "d2t": "int64"}[half]:
        raise BrokenMap(
            f"{half} is {element or type(tensor).__name__} {tuple(shape)}, not bool or int64 in one dimension"
        )
    values: Sequence[int] = tensor.tolist()
    return values
