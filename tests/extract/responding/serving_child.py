"""The server of `transformers serve` with the model of a GGUF file: `python -m ... FOLDER FILE.gguf PORT`.

Its own way to load a model asks the configuration for the architecture, which one read from GGUF does not name
(transformers 5.24), and leaves the weights packed, which is slow on a CPU. Everything else is the server as it is.
"""

import functools
import sys
from typing import Any

import gguf
import torch
from transformers import AutoModelForCausalLM, GgufConfig
from transformers.cli.serve import Serve
from transformers.cli.serving.model_manager import ModelManager


def _load_causal(_manager: ModelManager, model_id: str, **given: Any) -> Any:
    return AutoModelForCausalLM.from_pretrained(
        model_id,
        gguf_file=given["gguf_file"],
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )


if __name__ == "__main__":
    folder, file, port = sys.argv[1:]
    gguf.get_tensor_name_map = functools.cache(gguf.get_tensor_name_map)  # made anew for each tensor: half of the load
    ModelManager._load_model = _load_causal  # type: ignore[method-assign]  # see above
    Serve(force_model=f"{folder}:{file}", host="127.0.0.1", port=int(port), device="cpu")
