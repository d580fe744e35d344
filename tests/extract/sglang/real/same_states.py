"""The same corpus through `hf` and through a real SGLang server: `make test-sglang` runs this, the normal tests do not.

What is expected: states over HTTP are those of the hook bit for bit; and those of the hook are as far from a float32
pass of transformers as a bf16 pass of transformers is, within half of that again.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from extract.sglang.settings import Via, launch_flags
from extract.shards import open_shard
from extract.shards.reader import Shard
from tests.extract.conftest import Stages
from tests.extract.sglang.real.server import real_server

BLOCKS, LAYERS, VOCABULARY = 8, (2, 4, 5), 300
CONVERSATIONS = 40
NOISE = 1.5
LONGEST_SECONDS = 900

States = dict[int, "np.ndarray[Any, Any]"]


@pytest.fixture
def model(tmp_path: Path, tiny_folder: Path) -> Path:
    """A random Llama with the tiny tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(7)
    configuration = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=BLOCKS,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
    )
    folder = tmp_path / "model"
    LlamaForCausalLM(configuration).to(torch.bfloat16).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_folder / name).read_bytes())
    return folder


def corpus(stages: Stages, model: Path) -> None:
    """Merge conversations of many lengths into a corpus called `corpus`."""
    words = ("shards", "states", "disk", "tokens", "layers", "spool", "rename", "model", "server", "record")
    lines = []
    for number in range(CONVERSATIONS):
        text = " ".join(words[(number * step) % len(words)] for step in range(1, 2 + number * 2))
        spoken = [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": text}]
        lines.append(json.dumps({"id": str(number), "messages": spoken}))
    (stages.root / "responses.jsonl").write_text("\n".join(lines))
    stages.done("register", stages.root / "responses.jsonl", "--kind", "response_set", "--name", "responses")
    stages.done(
        "extract", "merge", "responses", "--out", stages.root / "corpus", "--tokenizer", model, "--name", "corpus"
    )


def extracted(stages: Stages, model: Path, name: str, *words: str) -> States:
    """Run an extraction and return its states by record, float32 [L, K, H]."""
    options = ("--corpus", "corpus", "--model", model, "--out", stages.root / name, *words)
    outcome = stages.cli("extract", "run", *options, timeout_seconds=LONGEST_SECONDS)
    assert outcome.code == 0, f"{outcome.stdout}\n{outcome.stderr}"
    found: States = {}
    for path in sorted((stages.root / name).glob("shard-*.safetensors")):
        with open_shard(path) as shard:
            found |= _states(shard)
    assert len(found) == CONVERSATIONS
    return found


def _states(shard: Shard) -> States:
    made = {}
    for position in range(len(shard)):
        record = shard[position]
        wide = (record.states.astype("<u4") << 16).view("<f4")
        made[record.index] = wide.reshape(record.tokens, -1, 256)
    return made


def distances(mine: States, right: States) -> list[float]:
    """Return for each state of a row the relative distance over all records."""
    count = next(iter(right.values())).shape[1]
    rows = [np.concatenate([states[index] for index in sorted(states)]) for states in (mine, right)]
    return [
        float(np.linalg.norm(rows[0][:, state] - rows[1][:, state]) / np.linalg.norm(rows[1][:, state]))
        for state in range(count)
    ]


def test_both_engines_give_the_same_states(
    stages: Stages, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = Path(os.environ["ARTIFACTCTL_SGLANG_PYTHON"])
    corpus(stages, model)
    exact = extracted(stages, model, "hf32", "--engine", "hf", "--final-state", "post", "--dtype", "float32")
    rounded = extracted(stages, model, "hf16", "--engine", "hf", "--final-state", "post", "--dtype", "bfloat16")
    flags = launch_flags(spool=str(tmp_path / "spool"), layers=LAYERS, final_state=True, ids=None, via=Via.HOOK)
    with real_server(python, model, tmp_path / "server.log", flags=flags) as url:
        words = ("--engine", "sglang", "--server", url)
        hook = extracted(stages, model, "hook", *words, "--final-state", "post")
        http = extracted(stages, model, "http", *words, "--via", "http")

    assert all(np.array_equal(http[index], hook[index][:, :-1]) for index in hook)
    noise, found = distances(rounded, exact), distances(hook, exact)
    with capsys.disabled():
        tokens = sum(len(states) for states in hook.values())
        print(f"\n{CONVERSATIONS} records, {tokens} tokens, states {LAYERS} and final; relative distance to float32:")
        print(f"  transformers in bf16 {' '.join(f'{each:.5f}' for each in noise)}")
        print(f"  sglang in bf16       {' '.join(f'{each:.5f}' for each in found)}")
    assert all(mine <= NOISE * bound for mine, bound in zip(found, noise, strict=True))
