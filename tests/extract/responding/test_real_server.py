"""A real model behind a real server on this CPU (`transformers serve`, SmolLM2-135M): from prompts to a vocabulary."""

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT, system_tests_are_demanded
from tests.extract.conftest import Stages, wait_until
from tests.extract.merging.merged import read_corpus
from tests.extract.responding.asked import records_of
from tests.extract.texts import openai, write_lines

NEEDED = ("fastapi", "gguf", "openai", "transformers", "uvicorn")
START_SECONDS = 600
"""Minutes on a machine that does other things; half a minute on one that does not."""

QUESTIONS = ("What is the capital of France?", "Say hello.", "Name a colour.")
MOST_TOKENS = 24


@pytest.fixture(scope="module")
def real_server(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of the server, and what it calls the model."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"{', '.join(missing)} are not there (pip install transformers gguf fastapi uvicorn openai)"
        if system_tests_are_demanded():
            pytest.fail(f"{reason} (ARTIFACTCTL_REQUIRE_SYSTEM is set)", pytrace=False)
        pytest.skip(reason)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",  # two threads on two busy cores wait for each other
    }
    command = [sys.executable, "-m", "tests.extract.responding.serving_child", gguf.parent, gguf.name, str(port)]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: server.poll() is not None or _listens(port), seconds=START_SECONDS)
        assert server.poll() is None, (folder / "log").read_text()[-2000:]
        yield f"http://127.0.0.1:{port}", f"{gguf.parent}:{gguf.name}"
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_prompts_become_answers_a_corpus_and_a_vocabulary_token_by_token(
    stages: Stages, real_server: tuple[str, str], gguf: Path
) -> None:
    url, model = real_server
    prompts = write_lines(
        stages.root / "prompts.jsonl", (openai([{"role": "user", "content": text}]) for text in QUESTIONS)
    )
    stages.done("scan", "vol")

    said = stages.done(
        *("extract", "respond", prompts, "--server", url, "--model", model, "--out", "answers", "--json"),
        *("--max-tokens", str(MOST_TOKENS), "--temperature", "0", "--concurrency", "1"),
    ).json()

    usage = said["usage"]
    assert (said["records"], said["complete"], usage["answers_without_count"]) == (3, True, 0)
    assert 0 < usage["completion_tokens"] <= 3 * MOST_TOKENS
    (capital,) = [each for each in records_of(stages.root / "answers") if "France" in each["messages"][-2]["content"]]
    assert "Paris" in capital["messages"][-1]["content"]

    merged = stages.done("extract", "merge", "vol/answers", "--tokenizer", gguf, "--out", "corpus", "--json").json()

    # The corpus has the tokens that the server had: so many of prompts, so many produced, those of cut answers too.
    corpus = read_corpus(stages.root / "corpus")
    assert merged["records"] == 3
    assert sum(sum(mask) for _, mask in corpus.records) == usage["completion_tokens"]
    ends_of_turns = sum(
        len(ids) - max(at for at, learn in enumerate(mask) if learn) - 1 for ids, mask in corpus.records
    )
    assert merged["tokens"] - ends_of_turns == usage["prompt_tokens"] + usage["completion_tokens"]

    stages.done("extract", "vocab", "--corpus", "vol/corpus", "--draft-size", "32", "--out", "map")
    stages.done("verify", "vol/answers", "vol/corpus", "vol/map")
    assert stages.names() == {
        "vol/prompts.jsonl": "response_set",
        "vol/answers": "response_set",
        "vol/corpus": "merged_corpus",
        "vol/map": "vocab_map",
    }
