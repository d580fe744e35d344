"""The founding story's extraction in small: planned, extracted, verified, the old set freed; real states too."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artifactctl.api.formats import Codec
from extract.running.engine import Engine, EngineRequest
from extract.running.hf import open_engine
from extract.shards.packing import PackedDump
from extract.vocabulary.stage import make_map
from tests.extract.conftest import CHAT_ML
from tests.extract.running.arithmetic import ArithmeticEngine, shards_of
from tests.extract.running.site import Site, make_site
from tests.extract.texts import sentences, some_conversations

LAYERS = (2, 15, 27)
SHARD_BYTES = 2 * 2**20
CONVERSATIONS = 200
"""Of some twenty tokens: 4,000 in all, which the real model reads twice."""

BATCH_TOKENS = 512
"""Short records one by one would read all weights for twenty tokens each time."""

POLICY = """
schema: artifactctl/policy/v1
name: sets
description: Old hidden states go when what took their place is verified.
defaults: {action: quarantine, quarantine: 7d, min_age: 0s, quiet_time: 0s}
limits: {max_bytes: 1TiB, max_artifacts: 10}
rules:
  - name: superseded
    description: Others took their place, and those were verified.
    match: {kind: hidden_states, superseded: true}
    require:
      successor: {kind: hidden_states, relation: supersedes, verified: true}
"""


@pytest.fixture(params=["arithmetic", "real"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "arithmetic":
        yield ArithmeticEngine()
        return
    model = request.getfixturevalue("gguf")
    opened = open_engine(EngineRequest(model=model, layers=LAYERS, device="cpu", batch_tokens=BATCH_TOKENS))
    yield opened
    opened.close()


@pytest.fixture
def story(tmp_path: Path, engine: Engine, request: pytest.FixtureRequest) -> Site:
    """A few hundred short conversations, merged with the tokenizer of the model."""
    if engine.facts.name == "hf":
        tokenizer = replace(request.getfixturevalue("smollm"), template=CHAT_ML)
        site = make_site(tmp_path, tmp_path / "scratch", tokenizer, chats=list(short_conversations()))
    else:
        chats = some_conversations(CONVERSATIONS, seed=3)
        site = make_site(tmp_path, tmp_path / "scratch", request.getfixturevalue("tiny"), chats=chats)
    (site.folder / "policy.yaml").write_text(POLICY)
    return site


def short_conversations() -> Iterator[list[dict[str, str]]]:
    rng = random.Random(11)
    for number in range(CONVERSATIONS):
        yield [
            {"role": "user", "content": f"Line {number}?"},
            {"role": "assistant", "content": sentences(rng, 1)},
        ]


def planned(site: Site, engine: Engine) -> Any:
    facts = engine.facts
    config = {"hidden_size": facts.hidden_size, "num_hidden_layers": facts.blocks, "vocab_size": facts.vocabulary}
    (site.folder / "config.json").write_text(json.dumps(config))
    words = ["--model", str(site.folder / "config.json"), "--layers", ",".join(map(str, facts.layers))]
    return site.json(
        "plan", "extraction", "--corpus", "corpus", "--volume", "vol", *words, "--final-state", facts.final_state.value
    )


def test_the_new_set_takes_what_was_planned_and_frees_the_old_one_once_it_is_verified(
    story: Site, engine: Engine
) -> None:
    site = story
    with site.open() as session:
        make_map(
            session, site.root / "corpus", "corpus", site.root / "map",
            draft_size=20, target_size=engine.facts.vocabulary, name="map", progress=lambda _: None,
        )  # fmt: skip
    before = planned(site, engine)

    old = site.run(engine, out=site.root / "old", name="old", shard_bytes=SHARD_BYTES)
    new = site.run(engine, out=site.root / "new", name="new", codec=Codec.PLANES, shard_bytes=SHARD_BYTES)

    with site.corpus() as corpus:
        assert old.records == new.records == len(corpus)
        assert old.tokens == new.tokens == corpus.tokens
    for made, expected_bytes in ((old, before["demand_bytes"]), (old, old.planned_bytes), (new, new.planned_bytes)):
        measured_bytes = site.json("show", made.artifact.name)["allocated_bytes"]
        assert expected_bytes is not None
        assert abs(measured_bytes - expected_bytes) <= 0.02 * expected_bytes
    plain, coded = PackedDump(site.root / "old"), PackedDump(site.root / "new")
    for one, other in zip(plain, coded, strict=True):
        assert one.is_same_as(other)
    plain.close()
    coded.close()
    assert len(shards_of(site.root / "old")) > 1
    site.command("supersede", "old", "--by", "new")
    policy = ("--policy", str(site.folder / "policy.yaml"))
    site.command("reclaim", *policy, "--dry-run", code=4)
    explained = site.command("policy", "explain", "old", *policy)
    assert "old stays" in explained
    assert "no living and verified hidden_states (supersedes) is recorded" in explained
    assert site.json("verify", "new", "--level", "digests")["results"][0]["ok"]
    (step,) = site.json("reclaim", *policy, "--dry-run")["steps"]
    assert step["name"] == "old"
    reasons = {each["guard"]: each["reason"] for each in step["evidence"]}
    assert reasons["successor_verified"] == "its successor new is verified"
