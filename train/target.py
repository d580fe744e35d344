"""What a draft needs of its target: the shape, and three frozen tensors out of its weights.

From a folder of safetensors, or dequantised from a GGUF file. Tensors only: nothing is unpickled, no model is built.

Shape suffixes: V target tokens, H hidden size.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from artifactctl.domain.errors import UsageError
from extract.publishing import listed_names
from extract.requirements import need
from train.draft import DraftConfig

_NESTED_TEXT = ("text_config", "llm_config", "language_config")
_SCALED = ("logit_scale", "logits_scaling", "embedding_multiplier", "final_logit_softcapping", "attn_logit_softcapping")
_GGUF_SCALED = ("logit_scale", "embedding_scale", "final_logit_softcapping")
_INDEX = "model.safetensors.index.json"
_EMBEDDING, _HEAD = "embed_tokens.weight", "lm_head.weight"
_GGUF_FAMILIES = {
    "deepseek2": "DeepseekV3ForCausalLM",
    "glm4moe": "Glm4MoeForCausalLM",
    "gpt-oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3moe": "Qwen3MoeForCausalLM",
}
_REMEDY = "give the target's folder with config.json and safetensors, or its GGUF file"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig:
    """The shape of a target whose head reads RMS-normed states and whose embedding is not scaled.

    `architecture` is the class that serves it, such as LlamaForCausalLM; "" where it is not known.
    """

    hidden_size: int
    blocks: int
    vocabulary: int
    intermediate_size: int
    attention_heads: int
    key_value_heads: int
    head_size: int
    norm_epsilon: float
    rope_theta: float
    longest_positions: int
    architecture: str = ""

    def draft(self, *, layers: tuple[int, ...], draft_vocabulary: int, **others: Any) -> DraftConfig:
        """Return the shape of a draft as wide as one of the target's blocks; `others` take fields' places."""
        fields: dict[str, Any] = {
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "attention_heads": self.attention_heads,
            "key_value_heads": self.key_value_heads,
            "head_size": self.head_size,
            "target_vocabulary": self.vocabulary,
            "norm_epsilon": self.norm_epsilon,
            "rope_theta": self.rope_theta,
            "longest_positions": self.longest_positions,
        }
        return DraftConfig(layers=layers, draft_vocabulary=draft_vocabulary, **{**fields, **others})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrozenTarget:
    """`embedding` and `head` [V, H] (the same tensor where the target ties them) and the final `norm` [H]."""

    config: TargetConfig
    embedding: torch.Tensor
    head: torch.Tensor
    norm: torch.Tensor

    def normed(self, final_BLH: torch.Tensor) -> torch.Tensor:
        """Return the last states before the norm [B, L, H] as the head reads them, in float32."""
        wide = final_BLH.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.config.norm_epsilon)
        return self.norm.float() * scaled


def read_target_config(target: Path) -> TargetConfig:
    """Return the shape of the target in a folder or a GGUF file; UsageError where it cannot be known."""
    return _gguf_config(target, _gguf(target)) if target.is_file() else _folder_config(target)


def load_target(target: Path) -> FrozenTarget:
    """Load the frozen tensors, in the element type in which they are kept, float32 from a GGUF; UsageError."""
    frozen = _load_gguf(target) if target.is_file() else _load_folder(target)
    config = frozen.config
    shapes = (tuple(frozen.embedding.shape), tuple(frozen.head.shape), tuple(frozen.norm.shape))
    wide = (config.vocabulary, config.hidden_size)
    if shapes != (wide, wide, (config.hidden_size,)):
        raise UsageError(
            f"the embedding, head and norm of {target} are {shapes}, its configuration says {wide}", remedy=_REMEDY
        )
    return frozen


def _folder_config(target: Path) -> TargetConfig:
    try:
        whole = json.loads((target / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{target} holds no config.json that can be read", remedy=_REMEDY) from error
    text = next((whole[key] for key in _NESTED_TEXT if isinstance(whole.get(key), dict)), whole)
    _require_plain(target, text, _SCALED, str(text.get("model_type", "")))
    heads = _count(target, text, "num_attention_heads")
    hidden = _count(target, text, "hidden_size")
    rope = text.get("rope_parameters") or {}
    return TargetConfig(
        hidden_size=hidden,
        blocks=_count(target, text, "num_hidden_layers"),
        vocabulary=_count(target, text, "vocab_size"),
        intermediate_size=_count(target, text, "intermediate_size"),
        attention_heads=heads,
        key_value_heads=text.get("num_key_value_heads") or heads,
        head_size=text.get("head_dim") or hidden // heads,
        norm_epsilon=float(text.get("rms_norm_eps", 1e-6)),
        rope_theta=float(text.get("rope_theta") or rope.get("rope_theta") or 10_000.0),
        longest_positions=text.get("max_position_embeddings") or 2048,
        architecture=str(next(iter(whole.get("architectures") or ()), "")),
    )


def _load_folder(target: Path) -> FrozenTarget:
    config = _folder_config(target)
    where = _weight_files(target)
    embedding_name = _only(target, where, _EMBEDDING)
    tensors = {"embedding": embedding_name, "norm": embedding_name.replace(_EMBEDDING, "norm.weight")}
    if any(name.endswith(_HEAD) for name in where):
        tensors["head"] = _only(target, where, _HEAD)
    elif not _ties(target):
        raise UsageError(f"the weights of {target} hold no {_HEAD}, and its embedding is not tied", remedy=_REMEDY)
    loaded = {role: _tensor(target, where, name) for role, name in tensors.items()}
    head = loaded.get("head", loaded["embedding"])
    return FrozenTarget(config=config, embedding=loaded["embedding"], head=head, norm=loaded["norm"])


def _weight_files(target: Path) -> Mapping[str, Path]:
    """Return the file of each tensor."""
    if (target / _INDEX).is_file():
        named = json.loads((target / _INDEX).read_bytes())["weight_map"]
        return {name: target / file for name, file in named.items()}
    safetensors = need("safetensors", purpose="reading a target's weights", extra="train")
    found: dict[str, Path] = {}
    for name in listed_names(target):
        if name.endswith(".safetensors"):
            with safetensors.safe_open(str(target / name), framework="pt") as opened:
                found.update(dict.fromkeys(opened.keys(), target / name))
    return found


def _only(target: Path, where: Mapping[str, Path], ending: str) -> str:
    # Blocks that predict several tokens have embeddings and heads of their own: those lie within the layers.
    found = [name for name in where if name.endswith(ending) and ".layers." not in name]
    if len(found) != 1:
        raise UsageError(f"the weights of {target} hold {len(found)} tensors called {ending}, not one", remedy=_REMEDY)
    return found[0]


def _tensor(target: Path, where: Mapping[str, Path], name: str) -> torch.Tensor:
    safetensors = need("safetensors", purpose="reading a target's weights", extra="train")
    if name not in where:
        raise UsageError(f"the weights of {target} hold no {name}", remedy=_REMEDY)
    try:
        with safetensors.safe_open(str(where[name]), framework="pt") as opened:
            tensor: torch.Tensor = opened.get_tensor(name)
    except (OSError, safetensors.SafetensorError) as error:
        raise UsageError(f"{where[name]} cannot be read: {error}", remedy="fetch the target again") from error
    return tensor


def _ties(target: Path) -> bool:
    whole = json.loads((target / "config.json").read_bytes())
    return any(part.get("tie_word_embeddings") for part in (whole, *(whole.get(key) or {} for key in _NESTED_TEXT)))


def _gguf(target: Path) -> Any:
    gguf = need("gguf", purpose="reading a GGUF file", extra="train")
    try:
        return gguf.GGUFReader(str(target))
    except (OSError, ValueError) as error:
        raise UsageError(f"{target} is no GGUF file: {error}", remedy=_REMEDY) from error


def _gguf_config(target: Path, reader: Any) -> TargetConfig:
    family = reader.get_field("general.architecture").contents()
    values = {
        name.removeprefix(f"{family}."): field.contents()
        for name, field in reader.fields.items()
        if name.startswith(f"{family}.")
    }
    _require_plain(target, values, _GGUF_SCALED, family)
    hidden = _count(target, values, "embedding_length")
    heads = _count(target, values, "attention.head_count")
    return TargetConfig(
        hidden_size=hidden,
        blocks=_count(target, values, "block_count"),
        vocabulary=int(_gguf_tensor(target, reader, "token_embd.weight").shape[1]),
        intermediate_size=_count(target, values, "feed_forward_length"),
        attention_heads=heads,
        key_value_heads=values.get("attention.head_count_kv") or heads,
        head_size=values.get("attention.key_length") or hidden // heads,
        norm_epsilon=float(values.get("attention.layer_norm_rms_epsilon", 1e-6)),
        rope_theta=float(values.get("rope.freq_base") or 10_000.0),
        longest_positions=values.get("context_length") or 2048,
        architecture=_GGUF_FAMILIES.get(family, ""),
    )


def _load_gguf(target: Path) -> FrozenTarget:
    reader = _gguf(target)
    config = _gguf_config(target, reader)
    embedding = _dequantised(_gguf_tensor(target, reader, "token_embd.weight"))
    untied = any(tensor.name == "output.weight" for tensor in reader.tensors)
    head = _dequantised(_gguf_tensor(target, reader, "output.weight")) if untied else embedding
    norm = _dequantised(_gguf_tensor(target, reader, "output_norm.weight"))
    return FrozenTarget(config=config, embedding=embedding, head=head, norm=norm)


def _gguf_tensor(target: Path, reader: Any, name: str) -> Any:
    found = next((tensor for tensor in reader.tensors if tensor.name == name), None)
    if found is None:
        raise UsageError(f"{target} holds no tensor {name}", remedy=_REMEDY)
    return found


def _dequantised(tensor: Any) -> torch.Tensor:
    gguf = need("gguf", purpose="reading a GGUF file", extra="train")
    numpy = need("numpy", purpose="reading a GGUF file", extra="train")
    values = gguf.dequantize(tensor.data, tensor.tensor_type)
    return torch.from_numpy(numpy.array(values, dtype="<f4", copy=True))


def _require_plain(target: Path, values: Mapping[str, Any], scaled: tuple[str, ...], family: str) -> None:
    """Return for a target that is read as Llama is; UsageError for one that scales what goes in or comes out."""
    found = [name for name in scaled if values.get(name) not in (None, 1, 1.0)]
    if found or family.startswith(("gemma", "cohere", "command")):
        raise UsageError(
            f"{target} ({family}) scales its embedding, norm or logits ({', '.join(found) or 'by its family'}), "
            "which a draft here would not reproduce",
            remedy="train drafts of Llama-like targets",
        )


def _count(target: Path, values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise UsageError(f"{target} states no usable {name}: {value!r}", remedy=_REMEDY)
