"""The server of `transformers serve` with the model of a GGUF file: `python -m ... FOLDER FILE.gguf PORT`.

Its own way to load a model asks the configuration for the architecture, which one read from GGUF does not name
(transformers 5.24); loading by AutoModelForCausalLM goes through. Everything else is the server as it is.
"""

import sys
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.cli.serve import Serve
from transformers.cli.serving.model_manager import ModelManager


def _load_causal(_manager: ModelManager, model_id: str, **given: Any) -> Any:
    return AutoModelForCausalLM.from_pretrained(model_id, gguf_file=given["gguf_file"], dtype=torch.float32)


if __name__ == "__main__":
    folder, file, port = sys.argv[1:]
    ModelManager._load_model = _load_causal
    Serve(force_model=f"{folder}:{file}", host="127.0.0.1", port=int(port), device="cpu")
