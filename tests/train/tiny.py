"""A tiny random target and drafts of it, the same for the same seed."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from train.draft import DraftConfig, DraftModel, initialise

HIDDEN, BLOCKS, VOCABULARY, DRAFT = 16, 8, 300, 40
USED = tuple(range(7, 7 + 2 * DRAFT, 2))


def target_folder(folder: Path, *, tied: bool = False, seed: int = 0) -> Path:
    """Write the parts of a Llama's folder that a draft needs."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "num_hidden_layers": BLOCKS,
        "vocab_size": VOCABULARY,
        "intermediate_size": 24,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500.0,
        "max_position_embeddings": 256,
        "tie_word_embeddings": tied,
    }
    (folder / "config.json").write_text(json.dumps(config))
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        "model.embed_tokens.weight": torch.randn(VOCABULARY, HIDDEN, generator=generator),
        "model.norm.weight": torch.rand(HIDDEN, generator=generator) + 0.5,
        "model.layers.8.embed_tokens.weight": torch.zeros(1),
    }
    if not tied:
        tensors["lm_head.weight"] = torch.randn(VOCABULARY, HIDDEN, generator=generator)
    save_file(tensors, folder / "model.safetensors")
    return folder


def tiny_config() -> DraftConfig:
    """The shape of a draft of the tiny target."""
    return DraftConfig(
        hidden_size=HIDDEN,
        intermediate_size=24,
        attention_heads=4,
        key_value_heads=2,
        head_size=4,
        target_vocabulary=VOCABULARY,
        draft_vocabulary=DRAFT,
        layers=(2, 4, 5),
    )


def tiny_draft(seed: int = 0) -> DraftModel:
    """A draft with random weights large enough to matter."""
    generator = torch.Generator().manual_seed(seed)
    model = DraftModel(tiny_config(), used=USED, embedding_VH=torch.randn(VOCABULARY, HIDDEN, generator=generator))
    initialise(model, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10 if parameter.dim() > 1 else 1)
    return model
