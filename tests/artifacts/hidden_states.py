"""Hidden states in the layouts of the field, from real tensors."""

import gzip
import io
from pathlib import Path

import torch
from safetensors.torch import save_file

HIDDEN = 8


def safetensors_shards(
    folder: Path, *, rows: tuple[int, ...] = (5, 7, 3), layers: tuple[int, ...] = (2, 30, 58)
) -> Path:
    """Write one shard for every number of rows; each layer is a bf16 tensor [rows, HIDDEN]."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, count in enumerate(rows):
        tensors = {f"layer_{layer}": torch.randn(count, HIDDEN, dtype=torch.bfloat16) for layer in layers}
        tensors["input_ids"] = torch.arange(count)
        save_file(tensors, folder / f"shard-{index:05d}.safetensors")
    return folder


def specforge_dump(folder: Path, *, lengths: tuple[int, ...] = (4, 6), group: int = 2000, packed: bool = False) -> Path:
    """Write one torch file for every sample, as SpecForge's prepare_hidden_states does."""
    for index, length in enumerate(lengths):
        begin = index // group * group
        rows = folder / f"rows_{begin}-{begin + group}"
        rows.mkdir(parents=True, exist_ok=True)
        sample = {
            "input_ids": torch.arange(length),
            "loss_mask": torch.ones(length, dtype=torch.int64),
            "hidden_state": torch.randn(1, length, HIDDEN, dtype=torch.bfloat16),
            "aux_hidden_state": torch.randn(1, length, 3 * HIDDEN, dtype=torch.bfloat16),
        }
        raw = io.BytesIO()
        torch.save(sample, raw)
        if packed:
            (rows / f"data_{index}.ckpt.gz").write_bytes(gzip.compress(raw.getvalue(), 6))
        else:
            (rows / f"data_{index}.ckpt").write_bytes(raw.getvalue())
    return folder


def speculators_dump(folder: Path, *, lengths: tuple[int, ...] = (4, 6, 9)) -> Path:
    """Write `hs_N.safetensors` with token ids [L] and states [L, 4, HIDDEN]."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, length in enumerate(lengths):
        tensors = {
            "token_ids": torch.arange(length),
            "hidden_states": torch.randn(length, 4, HIDDEN, dtype=torch.bfloat16),
        }
        save_file(tensors, folder / f"hs_{index}.safetensors")
    return folder
