"""The layout of a draft that SGLang serves: config.json, and the tensors of model.safetensors by name and shape.

Read in sglang 0.5.23 (srt/models/llama_eagle3.py, LlamaForCausalLMEagle3). It adds `d2t` to 0, 1, ... and ignores
`t2d`; takes the target's embedding where the sizes are the same; skips a tensor whose name it does not know, and leaves
one that is missing as it was drawn; and skips `fc` when the states are as wide as the embedding, so a draft that reads
one layer alone cannot be served.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from train.draft import DraftConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
ARCHITECTURE = "LlamaForCausalLMEagle3"
EMBEDDING = "embed_tokens.weight"
"""May stand in model.safetensors; a server takes the target's in its place."""

_FEWEST_LAYERS = 2
_IDS = "eagle_aux_hidden_state_layer_ids"
_FIXED = {
    "architectures": [ARCHITECTURE],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "tie_word_embeddings": False,
}
_VARIANTS = (
    "rope_scaling",
    "norm_output",
    "fc_norm",
    "use_aux_norm",
    "norm_before_fc",
    "bias",
    "attention_bias",
    "mlp_bias",
)
_SIZES = {
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "num_attention_heads": "attention_heads",
    "num_key_value_heads": "key_value_heads",
    "head_dim": "head_size",
    "vocab_size": "target_vocabulary",
    "draft_vocab_size": "draft_vocabulary",
    "max_position_embeddings": "longest_positions",
}


def served_shapes(config: DraftConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor that the layout needs, by its name."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.attention_heads * config.head_size, config.key_value_heads * config.head_size
    layer = {
        "input_layernorm": (hidden,),
        "hidden_norm": (hidden,),
        "post_attention_layernorm": (hidden,),
        "self_attn.q_proj": (queries, 2 * hidden),
        "self_attn.k_proj": (keys, 2 * hidden),
        "self_attn.v_proj": (keys, 2 * hidden),
        "self_attn.o_proj": (hidden, queries),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }
    return {
        "fc.weight": (hidden, len(config.layers) * hidden),
        "norm.weight": (hidden,),
        "lm_head.weight": (config.draft_vocabulary, hidden),
        "t2d": (config.target_vocabulary,),
        "d2t": (config.draft_vocabulary,),
        **{f"midlayer.{name}.weight": shape for name, shape in layer.items()},
    }


def served_config(config: DraftConfig, *, layer_ids: tuple[int, ...] | None) -> dict[str, Any]:
    """Return the content of config.json; `layer_ids` as the target's family counts them, None for its usual ones."""
    stated = {} if layer_ids is None else {_IDS: list(layer_ids)}
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "llama",
        **{name: getattr(config, field) for name, field in _SIZES.items()},
        "num_hidden_layers": 1,
        "num_aux_hidden_states": len(config.layers),
        "rms_norm_eps": config.norm_epsilon,
        "rope_theta": config.rope_theta,
        "rope_scaling": None,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eagle_config": {"use_aux_hidden_state": True, **stated},
    }


def config_problems(content: Mapping[str, Any]) -> list[str]:
    """Return what in a config.json is missing, or describes another draft than those that are made here."""
    return [*_missing(content), *_otherwise(content)]


def _missing(content: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in _FIXED.items():
        if content.get(name) != wanted:
            yield f"{name} is {content.get(name)!r}, not {wanted!r}"
    for name in _SIZES:
        value = content.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield f"{name} is {value!r}" + (": the server would take the target's head" if "draft" in name else "")
    if not isinstance(content.get("rms_norm_eps"), float):
        yield f"rms_norm_eps is {content.get('rms_norm_eps')!r}"


def _otherwise(content: Mapping[str, Any]) -> Iterator[str]:
    eagle = _eagle(content)
    for name in _VARIANTS:
        if content.get(name) or eagle.get(name):
            yield f"{name} is set: such a draft is computed otherwise"
    if content.get("target_hidden_size", content.get("hidden_size")) != content.get("hidden_size"):
        yield f"target_hidden_size is {content['target_hidden_size']!r}, and hidden_size another"
    if content.get("hidden_act", "silu") != "silu":
        yield f"hidden_act is {content['hidden_act']!r}, not 'silu'"
    if eagle.get("use_aux_hidden_state", True) is not True:
        yield "use_aux_hidden_state is not true: the draft would be given the last state alone"
    if captured_layers(content) < _FEWEST_LAYERS:
        yield f"it reads {captured_layers(content)} layer: a server leaves fc out then"


def captured_layers(content: Mapping[str, Any]) -> int:
    """Return how many layers of the target the draft reads, as the server counts them."""
    stated = content.get("num_aux_hidden_states")
    if isinstance(stated, int):
        return stated
    return len(stated_layer_ids(content) or (0, 0, 0))


def stated_layer_ids(content: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the ids that a server gives its target, None where it leaves them to it."""
    ids = _eagle(content).get(_IDS)
    return tuple(int(each) for each in ids) if ids else None


def draft_config(content: Mapping[str, Any], *, layers: tuple[int, ...]) -> DraftConfig:
    """Return the shape that a config.json without problems says."""
    turning = content.get("rope_parameters") or content
    return DraftConfig(
        **{field: content[name] for name, field in _SIZES.items()},
        layers=layers,
        norm_epsilon=float(content["rms_norm_eps"]),
        rope_theta=float(turning.get("rope_theta", 10_000.0)),
    )


def _eagle(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("eagle_config")
    return found if isinstance(found, dict) else {}
