"""Targets that are small enough to decode in a test."""

from pathlib import Path

import torch

from train.draft import DraftModel, initialise
from train.target import load_target

LAYERS = (2, 4, 5)


def write_llama(folder: Path, tokenizer: Path, *, hidden: int = 32, seed: int = 7) -> Path:
    """Write a random Llama whose answers vary, with a tokenizer of 300 tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    configuration = LlamaConfig(
        vocab_size=300,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.2,
        bos_token_id=None,
        eos_token_id=257,
    )
    LlamaForCausalLM(configuration).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tokenizer / name).read_bytes())
    return folder


def drafts_of(folder: Path, *, used: range = range(0, 300, 2), seed: int = 0) -> DraftModel:
    """Return a random draft of the target in a folder."""
    frozen = load_target(folder)
    config = frozen.config.draft(layers=LAYERS, draft_vocabulary=len(used))
    model = DraftModel(config, used=used, embedding_VH=frozen.embedding.float())
    initialise(model, seed=seed)
    return model.eval()
