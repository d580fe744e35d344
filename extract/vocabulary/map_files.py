"""Maps as files: `t2d.pt` and `d2t.pt` as the serving engines read them; the other packagings are read as well.

Others: `vocab_mapping*.pt` with both tensors (SpecForge), `t2d*.npy` and `d2t*.npy` (speculators). Reading needs
no torch, and runs nothing that stands in the files.
"""

import json
from pathlib import Path
from typing import Any

from artifactctl.api.vocab_maps import BrokenMap, map_files, read_vocab_map
from artifactctl.domain.errors import UsageError
from extract.publishing import listed_names, sync_file
from extract.requirements import need
from extract.vocabulary.draft_map import DraftMap

T2D, D2T, ABOUT = "t2d.pt", "d2t.pt", "vocab_map.json"
MEMBERS = (T2D, D2T, ABOUT)


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
    files = [place / name for name in map_files(listed_names(place))] if place.is_dir() else [place]
    try:
        d2t, t2d = read_vocab_map(files)
        return DraftMap.of_tensors(d2t, t2d)
    except BrokenMap as error:
        raise UsageError(
            f"{place} is no vocabulary map: {error}", remedy="give a folder with t2d.pt and d2t.pt"
        ) from error
