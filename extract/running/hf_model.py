"""A model loaded with transformers, and where in it the hidden states pass by."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifactctl.api.admission import ModelShape
from artifactctl.domain.errors import UsageError
from extract.requirements import need

_BLOCKS = ("layers", "h", "blocks")
_NORMS = ("norm", "ln_f", "final_layernorm", "final_layer_norm", "norm_f")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """`body` is the part without a head that takes `input_ids`; its `blocks` run in order, `norm` comes after them.

    `whole` is the model with its head; only the body is on the device.
    """

    whole: Any
    body: Any
    blocks: Any
    norm: Any
    shape: ModelShape
    computed_in: str
    device: Any


def load(model: Path, *, device: str, dtype: str) -> LoadedModel:
    """Load a model's folder or GGUF file for inference, nothing from the network; UsageError where that fails.

    "auto" is the first GPU there is, else the CPU; and on a GPU the model's own element type, on a CPU float32, in
    which a CPU computes fastest.
    """
    os.environ.setdefault("TQDM_DISABLE", "1")  # its progress bars are in nobody's hands, and stderr is for ours
    torch = need("torch", purpose="computing hidden states")
    transformers = need("transformers", purpose="computing hidden states")
    transformers.utils.logging.disable_progress_bar()
    place = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    kind = ("auto" if place.type == "cuda" else torch.float32) if dtype == "auto" else getattr(torch, dtype)
    folder, named = _words(model)
    try:
        loaded = transformers.AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=kind, local_files_only=True, **named
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"transformers cannot load {model}: {first_line}", remedy="give a model's folder, or a GGUF file"
        ) from error
    loaded.eval().requires_grad_(requires_grad=False)
    body, blocks, norm = _body(loaded, model)
    body.to(place)
    text = loaded.config.get_text_config()
    return LoadedModel(
        whole=loaded,
        body=body,
        blocks=blocks,
        norm=norm,
        shape=ModelShape(
            name=model.name, hidden_size=text.hidden_size, layers=len(blocks), vocab_size=int(text.vocab_size)
        ),
        computed_in=str(next(body.parameters()).dtype).removeprefix("torch."),
        device=place,
    )


def _words(model: Path) -> tuple[Path, dict[str, str]]:
    if model.is_file() and model.suffix == ".gguf":
        need("gguf", purpose="reading a GGUF file")
        return model.parent, {"gguf_file": model.name}
    try:
        configuration = json.loads((model / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{model} is no model: it holds no config.json that can be read",
            remedy="give a model's folder, or a GGUF file",
        ) from error
    if "auto_map" in configuration and "model_type" not in configuration:
        raise UsageError(f"{model} needs code of its own, which is not run", remedy="use an engine that serves it")
    return model, {}


def _body(loaded: Any, model: Path) -> tuple[Any, Any, Any]:
    """Return (body, its blocks, the norm after them): the module that has as many blocks as the configuration says."""
    torch = need("torch", purpose="computing hidden states")
    depth = loaded.config.get_text_config().num_hidden_layers
    for module in loaded.modules():
        blocks = next((getattr(module, name) for name in _BLOCKS if hasattr(module, name)), None)
        norm = next((getattr(module, name) for name in _NORMS if hasattr(module, name)), None)
        if isinstance(blocks, torch.nn.ModuleList) and len(blocks) == depth and norm is not None:
            return module, blocks, norm
    raise UsageError(
        f"{model} is a {type(loaded).__name__}: where its blocks and its final norm are is not known",
        remedy="use another engine",
    )
