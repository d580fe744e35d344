"""Vocabulary maps in their three packagings."""

from pathlib import Path

import numpy as np
import torch

TARGET = 40
USED = (1, 4, 5, 9, 17, 30)
"""The target ids that the draft keeps, ascending."""


def halves() -> tuple[torch.Tensor, torch.Tensor]:
    """Return (t2d bool [TARGET], d2t int64 [draft])."""
    used = torch.tensor(USED)
    t2d = torch.zeros(TARGET, dtype=torch.bool)
    t2d[used] = True
    return t2d, used - torch.arange(len(USED))


def two_torch_files(folder: Path) -> Path:
    """Write t2d.pt and d2t.pt."""
    folder.mkdir(parents=True, exist_ok=True)
    t2d, d2t = halves()
    torch.save(t2d, folder / "t2d.pt")
    torch.save(d2t, folder / "d2t.pt")
    return folder


def one_torch_file(folder: Path, name: str = "vocab_mapping.pt") -> Path:
    """Write SpecForge's vocab_mapping.pt."""
    folder.mkdir(parents=True, exist_ok=True)
    t2d, d2t = halves()
    torch.save({"d2t": d2t, "t2d": t2d}, folder / name)
    return folder / name


def two_numpy_files(folder: Path) -> Path:
    """Write t2d.npy and d2t.npy, as speculators does."""
    folder.mkdir(parents=True, exist_ok=True)
    t2d, d2t = halves()
    np.save(folder / "t2d.npy", t2d.numpy())
    np.save(folder / "d2t.npy", d2t.numpy())
    return folder
