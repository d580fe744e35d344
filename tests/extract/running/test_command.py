"""`extract run` as its user has it, with a tiny random Llama: answers, exit codes, and what it says meanwhile."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.bench.sandbox import CHECKOUT
from tests.extract.conftest import Stages
from tests.extract.texts import openai, some_conversations, write_lines


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four blocks, thirty-two channels; a vocabulary that lacks the end mark of ChatML."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(3)
    configuration = LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
    )
    LlamaForCausalLM(configuration).save_pretrained(folder)
    return folder


def test_hidden_states_come_from_the_command_line_and_another_run_at_the_place_is_refused(
    stages: Stages, tiny_folder: Path, model: Path
) -> None:
    write_lines(stages.root / "raw.jsonl", map(openai, some_conversations(20, seed=1)))
    stages.done("scan", "vol")
    out = stages.root / "states"
    merge = ["extract", "merge", stages.root / "raw.jsonl", "--out", stages.root / "corpus", "--tokenizer", tiny_folder]
    stages.done(*merge, "--name", "corpus")
    log = stages.root.parent / "log.jsonl"
    words = [
        "extract",
        "run",
        "--corpus",
        "corpus",
        "--model",
        model,
        "--engine",
        "hf",
        "--out",
        out,
        "--name",
        "states",
    ]
    words += ["--shard-size", "1MiB", "--log", log]

    done = stages.done(*words, "--layers", "1,2,4", "--final-state", "post", "--json")

    answer = done.json()
    assert answer["schema"] == "artifactctl.extract_run/1"
    assert (answer["name"], answer["records"], answer["rejected"]) == ("states", 20, [])
    assert answer["bytes"] == sum(path.stat().st_size for path in out.glob("shard-*"))
    assert answer["tokens_per_second"] > 0
    assert "may be used" in done.stderr
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events[:3] == ["loading", "probing", "admitted"]
    assert events.count("shard") == answer["shards"]
    refused = stages.done(*words, "--layers", "1,2,3", code=4)
    assert "layers 1,2,3 here, 1,2,4 there" in refused.stderr
    again = stages.done(*words, "--layers", "1,2,4", "--final-state", "post")
    assert "it was complete before" in again.stdout
    wrong = stages.done(*words[:3], "vol/raw.jsonl", *words[4:], code=2)
    assert "is a response_set" in wrong.stderr


def test_help_loads_no_library_that_the_base_install_has_not_got() -> None:
    code = (
        "import sys, click; from extract.running.command import run_command as run\n"
        "run.get_help(click.Context(run))\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'safetensors', 'sqlalchemy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
