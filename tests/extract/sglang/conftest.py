"""A model's folder, records of a corpus, and an engine that is closed again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from artifactctl.api.formats import FinalState
from extract.credentials import NO_KEY, Key
from extract.running.engine import CorpusRecord, EngineRequest
from extract.sglang.engine import SglangEngine, open_engine
from extract.shards.records import token_hash
from tests.extract.sglang.fake_server import FakeServer
from tests.extract.sglang.model_tree import BLOCKS, HIDDEN, VOCABULARY

OpenEngine = Callable[..., SglangEngine]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder `tiny` of the model that the fake servers have."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    shape = {"hidden_size": HIDDEN, "num_hidden_layers": BLOCKS, "vocab_size": VOCABULARY}
    (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], **shape}))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def record(index: int, *token_ids: int) -> CorpusRecord:
    """Return a record of a corpus."""
    ids = np.array(token_ids, "<i8")
    return CorpusRecord(index=index, content_key=token_hash(ids), token_ids=ids)


def records(count: int) -> list[CorpusRecord]:
    """Return different records of 1 to 40 tokens."""
    made = np.random.default_rng(11)
    return [record(index, *made.integers(0, VOCABULARY, int(made.integers(1, 41))).tolist()) for index in range(count)]


@pytest.fixture
def opened(model: Path) -> Iterator[OpenEngine]:
    """Open engines over servers: with the final state through the hook, without it over HTTP."""
    made: list[SglangEngine] = []

    def open_over(*servers: FakeServer, via: str = "hook", key: Key = NO_KEY, **limits: float) -> SglangEngine:
        final_state = FinalState.POST if via == "hook" else FinalState.NONE
        urls = tuple(server.url for server in servers)
        request = EngineRequest(model=model, final_state=final_state, servers=urls, via=via, key=key)
        made.append(open_engine(request, **{"answer_seconds": 5, "patience_seconds": 1, **limits}))
        return made[-1]

    yield open_over
    for engine in made:
        engine.close()
