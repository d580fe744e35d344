"""A target that counts up in sevens, and a served draft that is right in its first proposal and in no other.

The target's blocks add nothing, each token's embedding is a channel of its own, and its head names the token seven
further. So a state says which token it was, and the draft, which hands the first of its three states to its head and
nothing else, names the token fourteen further: right for the token after the next, and wrong a step later.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from train.draft import DraftModel
from train.exporting.served import CONFIG, WEIGHTS, served_config
from train.target import load_target
from train.weights import served_tensors

TOKENS = 264
LAYERS = (2, 4, 5)


def _naming(tokens: int, further: int) -> torch.Tensor:
    return torch.eye(tokens).roll(further, dims=0)


def counting_target(folder: Path, tokenizer: Path, *, tokens: int = TOKENS) -> Path:
    """Write the target."""
    configuration = LlamaConfig(
        vocab_size=tokens,
        hidden_size=tokens,
        intermediate_size=32,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(configuration)
    with torch.no_grad():
        for block in model.model.layers:
            block.self_attn.o_proj.weight.zero_()
            block.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(tokens))
        model.lm_head.weight.copy_(_naming(tokens, 7))
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tokenizer / name).read_bytes())
    return folder


def counting_draft(folder: Path, target: Path) -> Path:
    """Write the draft as it is served."""
    frozen = load_target(target)
    config = frozen.config.draft(layers=LAYERS, draft_vocabulary=TOKENS)
    model = DraftModel(config, used=range(TOKENS), embedding_VH=frozen.embedding)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0 if parameter.dim() == 1 else 0.0)
        model.fc.weight[:, :TOKENS] = torch.eye(TOKENS)
        model.lm_head.weight.copy_(_naming(TOKENS, 14))
    folder.mkdir()
    save_file(served_tensors(model.state_dict()), folder / WEIGHTS)
    (folder / CONFIG).write_text(json.dumps(served_config(config, layer_ids=(1, 3, 4))))
    return folder
