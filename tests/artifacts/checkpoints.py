"""Models, drafts and checkpoints as trainers leave them."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

EAGLE3_CONFIG = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "draft_vocab_size": 6}
LLAMA_CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}


def weights() -> dict[str, torch.Tensor]:
    """Return the weights of a very small network."""
    return {"fc.weight": torch.randn(8, 24), "norm.weight": torch.ones(8), "lm_head.weight": torch.randn(6, 8)}


def model_folder(folder: Path, config: dict[str, Any] | None = None) -> Path:
    """Write config.json and model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or LLAMA_CONFIG))
    save_file(weights(), folder / "model.safetensors")
    return folder


def trainer_checkpoint(run: Path, step: int, *, best: int | None = None, loss: float = 0.5) -> Path:
    """Write `checkpoint-STEP` as transformers' Trainer does."""
    folder = model_folder(run / f"checkpoint-{step}", EAGLE3_CONFIG)
    torch.save({"state": {}, "param_groups": [{"lr": 1e-3}]}, folder / "optimizer.pt")
    state = {
        "global_step": step,
        "epoch": step / 1000,
        "best_metric": 0.25,
        "best_model_checkpoint": str(run / f"checkpoint-{best}") if best is not None else None,
        "log_history": [
            {"step": step // 2, "loss": 9.0, "eval_loss": 8.0},
            {"step": step, "loss": loss, "eval_loss": loss + 0.1},
        ],
    }
    (folder / "trainer_state.json").write_text(json.dumps(state))
    return folder


def lightning_checkpoint(path: Path) -> Path:
    """Write what Lightning saves: a dict with a state dict, optimizer states and its version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "epoch": 3,
        "global_step": 1000,
        "pytorch-lightning_version": "2.4.0",
        "state_dict": weights(),
        "optimizer_states": [{"state": {}, "param_groups": []}],
        "hyper_parameters": torch.device("cpu"),
    }
    torch.save(content, path)
    return path


def deepspeed_checkpoint(run: Path, step: int, *, latest: bool = False) -> Path:
    """Write a `global_stepN` folder, and `latest` beside it when asked."""
    folder = run / f"global_step{step}"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(weights(), folder / "mp_rank_00_model_states.pt")
    torch.save(weights(), folder / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    if latest:
        (run / "latest").write_text(f"global_step{step}")
    return folder


def hub_model(cache: Path, repo: str = "org/tiny", revision: str = "a1b2c3") -> Path:
    """Lay out a hub cache entry: blobs by digest, a snapshot of links, refs/main."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    snapshot = folder / "snapshots" / revision
    for part in (folder / "blobs", folder / "refs", snapshot):
        part.mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    source = model_folder(cache / "made")
    for index, made in enumerate(sorted(source.iterdir())):
        blob = folder / "blobs" / f"{index:040x}"
        made.rename(blob)
        (snapshot / made.name).symlink_to(Path("../../blobs") / blob.name)
    source.rmdir()
    return folder
