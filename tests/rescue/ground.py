"""Real files of the field, small but as large as asked: dumps of hidden states, checkpoints, leftovers."""

import json
import os
import struct
from pathlib import Path

MIB = 1024 * 1024


def shard(path: Path, size_bytes: int) -> Path:
    """Write one safetensors file of bf16 rows [tokens, 64] for two layers, of about `size_bytes`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tokens = max(1, size_bytes // (2 * 64 * 2))
    layer_bytes = tokens * 64 * 2
    header = json.dumps(
        {
            f"layer_{number}": {
                "dtype": "BF16",
                "shape": [tokens, 64],
                "data_offsets": [number * layer_bytes, (number + 1) * layer_bytes],
            }
            for number in range(2)
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + os.urandom(2 * layer_bytes))
    return path


def dump(folder: Path, *, shards: int = 2, shard_bytes: int = 64 * 1024) -> Path:
    """Write a folder of hidden states."""
    for number in range(shards):
        shard(folder / f"shard-{number:05d}.safetensors", shard_bytes)
    return folder


def checkpoint(run: Path, step: int, *, loss: float, best: int | None = None, size_bytes: int = 64 * 1024) -> Path:
    """Write `checkpoint-STEP` as transformers' Trainer lays it out."""
    folder = run / f"checkpoint-{step}"
    shard(folder / "model.safetensors", size_bytes)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "draft_vocab_size": 6}))
    named = str(run / f"checkpoint-{best}") if best is not None else None
    history = [{"step": step, "eval_loss": loss}]
    state = {"global_step": step, "best_model_checkpoint": named, "log_history": history}
    (folder / "trainer_state.json").write_text(json.dumps(state))
    return folder


def aged(path: Path, *, days: float, read_days: float | None = None) -> Path:
    """Set modification and access times of everything at `path` back; the change time stays what it is."""
    for place in (path, *path.rglob("*")):
        status = place.lstat()
        modified = status.st_mtime - days * 86_400
        read = status.st_mtime - (days if read_days is None else read_days) * 86_400
        os.utime(place, (read, modified), follow_symlinks=False)
    return path
