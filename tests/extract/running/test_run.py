"""A run: every record once, checked, in shards that follow from the corpus; stopped, it goes on; another is refused."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from artifactctl.api.formats import Codec, FinalState
from artifactctl.domain.artifacts import ArtifactKind, RunState
from artifactctl.domain.errors import Refused, UsageError
from extract.running.engine import Computed, Outcome, Unable
from extract.running.outcomes import Stopped
from extract.running.place import source_of
from extract.shards.packing import PackedDump
from extract.shards.records import token_hash
from tests.extract.running.arithmetic import ArithmeticEngine, facts_with, shards_of, states
from tests.extract.running.site import SHARD_BYTES, Site

CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def after(outcomes: int) -> Callable[[], bool]:
    """Return a request to stop that comes true after it was asked so often."""
    asked = count()
    return lambda: next(asked) >= outcomes


def altering(index: int, change: Callable[[Computed], Outcome | None]) -> ArithmeticEngine:
    return ArithmeticEngine(alter=lambda outcome: change(outcome) if outcome.index == index else outcome)


@CODECS
def test_every_record_of_the_corpus_is_there_once_with_the_states_that_the_engine_computed(
    site: Site, codec: Codec
) -> None:
    extracted = site.run(codec=codec)

    with site.corpus() as corpus:
        dump = PackedDump(site.out)
        found = {record.index: record for record in dump}
        assert sorted(found) == list(range(len(corpus))) == list(range(60))
        for index, record in found.items():
            expected = corpus.record(index)
            assert token_hash(record.token_ids) == expected.content_key
            assert (record.loss_mask == corpus.loss_mask(index)).all()
            parts = [states(record.token_ids, boundary) for boundary in (2, 4, 5, 99)]
            assert (record.states == np.concatenate(parts, axis=1)).all()
        dump.close()
        assert (extracted.records, extracted.tokens) == (60, corpus.tokens)
    assert len(shards_of(site.out)) > 3
    assert all(len(content) <= SHARD_BYTES for content in shards_of(site.out).values())


def test_the_catalog_knows_what_was_made_from_what_how_long_it_took_and_that_nothing_is_promised_any_more(
    site: Site,
) -> None:
    site.run(name="states")

    shown = site.json("show", "states")
    assert (shown["kind"], shown["state"], shown["records"]) == ("hidden_states", "live", 60)
    assert {(each["name"], each["role"]) for each in shown["parents"]} == {("corpus", "extracted_from")}
    (run,) = shown["runs"]
    assert (run["stage"], run["state"]) == ("extraction", RunState.SUCCEEDED.value)
    assert run["duration_seconds"] > 0
    assert shown["missing_records"] == []
    assert site.json("reservation", "ls")["reservations"] == []
    assert site.json("lease", "ls")["leases"] == []
    assert site.json("verify", "states", "--level", "digests")["results"][0]["ok"]


def test_what_was_measured_teaches_the_next_plan(site: Site) -> None:
    words = ("plan", "extraction", "--tokens", "1M", "--layers", "2,4,5", "--final-state", "post", "--volume", "vol")
    config = site.folder / "config.json"
    config.write_text('{"hidden_size": 16, "num_hidden_layers": 8, "vocab_size": 300}')
    before = site.json(*words, "--model", str(config))

    site.run()

    planned = site.json(*words, "--model", str(config))
    assert (before["basis"], planned["basis"]) == ("assumed", "measured")
    assert planned["duration_seconds"] > 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda each: replace(each, layers=(*each.layers[:2], each.layers[2][:-1])), "tokens need"),
        (lambda each: replace(each, layers=each.layers[:2]), "returned 3 states a token, 4 were asked for"),
        (lambda each: replace(each, token_hash=bytes(32)), "computed other token ids"),
        (lambda each: replace(each, final=np.full_like(each.final, 0x7FC0)), "not finite"),
        (lambda each: replace(each, final=np.full_like(each.final, 0xFF80)), "not finite"),
        (lambda each: replace(each, final=each.final.astype(np.uint32)), "uint32"),
        (lambda each: Unable(index=each.index, reason="it is longer than the model's context"), "model's context"),
    ],
    ids=["short", "a-layer-missing", "other-tokens", "nan", "infinite", "other-width", "unable"],
)
def test_a_record_that_is_not_right_is_left_out_with_its_reason_and_seen_in_the_catalog(
    site: Site, change: Callable[[Any], Outcome], reason: str
) -> None:
    extracted = site.run(altering(41, change), name="states")

    assert list(extracted.rejected) == [41]
    assert reason in extracted.rejected[41]
    assert extracted.records == 59
    dump = PackedDump(site.out)
    assert [record.index for record in dump] == [index for index in range(60) if index != 41]
    assert [each.index for each in dump.manifest.rejected] == [41]
    dump.close()
    (missing,) = site.json("show", "states")["missing_records"]
    assert missing["index"] == 41
    assert reason in missing["reason"]
    assert "1 record (41: " in site.command("show", "states")
    assert site.run(altering(41, change)).rejected == extracted.rejected


def test_a_record_with_a_token_that_the_model_does_not_have_is_left_out_before_the_engine_sees_it(site: Site) -> None:
    engine = ArithmeticEngine(facts_with(vocabulary=256))  # the marks of ChatML are beyond it

    extracted = site.run(engine)

    assert (extracted.records, len(extracted.rejected)) == (0, 60)
    assert all("beyond the model's vocabulary of 256" in reason for reason in extracted.rejected.values())
    assert engine.computed == []


def test_an_engine_that_drops_a_record_without_a_word_is_an_error_and_the_next_run_makes_it(site: Site) -> None:
    with pytest.raises(Refused, match="returned nothing for 1 of the"):
        site.run(altering(50, lambda _: None))

    assert site.run().records == 60


@CODECS
def test_a_run_that_is_stopped_goes_on_and_ends_with_the_same_bytes(site: Site, codec: Codec) -> None:
    site.run(out=site.root / "undisturbed", codec=codec)
    seen: dict[str, int] = {}
    for outcomes in (26, 16, 15):  # the probe of a share of some five records asks as well
        with pytest.raises(Stopped):
            site.run(should_stop=after(outcomes), codec=codec)
        whole = {path.name: path.stat().st_mtime_ns for path in site.out.glob("shard-*.safetensors")}
        assert seen.items() <= whole.items()
        assert not (site.out / "manifest.json").exists()
        assert list(site.out.glob("*.partial")) == []
        assert site.json("reservation", "ls")["reservations"] == []
        seen = whole
    assert seen

    engine = ArithmeticEngine()
    site.run(engine, codec=codec)

    assert len(engine.computed) < 60
    assert shards_of(site.out) == shards_of(site.root / "undisturbed")
    assert {path.name: path.stat().st_mtime_ns for path in site.out.glob("shard-*")}.items() >= seen.items()


def test_what_the_probe_computed_is_not_computed_again(site: Site) -> None:
    engine = ArithmeticEngine()

    site.run(engine, shard_bytes=64 * 2**20)

    assert sorted(engine.computed) == list(range(60))
    (admitted,) = site.events("admitted")
    assert admitted["tokens_per_second"] > 0


def test_a_stranger_at_the_place_never_becomes_part_of_the_states(site: Site) -> None:
    site.out.mkdir()
    (site.out / "precious.txt").write_text("somebody else's")
    engine = ArithmeticEngine()

    with pytest.raises(Refused, match=r"precious\.txt is there already"):
        site.run(engine)

    assert [path.name for path in site.out.iterdir()] == ["precious.txt"]
    assert engine.computed == []


def test_a_run_never_writes_into_what_another_program_is_making(site: Site) -> None:
    site.out.mkdir()
    with site.open() as session:
        states = session.register(site.out, kind=ArtifactKind.HIDDEN_STATES, name="theirs", building=True)
        session.divide(states, fingerprint={"stage": "conversion", "source": "x"}, shares=1)
        answers = site.root / "answers"
        answers.mkdir()
        session.register(answers, kind=ArtifactKind.RESPONSE_SET, name="answers", building=True)

    with pytest.raises(Refused, match="begun by a command of another stage: conversion"):
        site.run()
    with pytest.raises(Refused, match="answers, a response_set, is being made there"):
        site.run(out=answers)
    assert list(site.out.iterdir()) == list(answers.iterdir()) == []


@pytest.mark.parametrize(
    ("engine", "wanted", "difference"),
    [
        (ArithmeticEngine(facts_with(model_revision="2")), {}, "model revision 2 here, 1 there"),
        (ArithmeticEngine(facts_with(layers=(2, 4, 6))), {}, "layers 2,4,6 here, 2,4,5 there"),
        (ArithmeticEngine(facts_with(final_state=FinalState.PRE)), {}, "final state pre here, post there"),
        (ArithmeticEngine(facts_with(computed_in="thirds")), {}, "computed in thirds here"),
        (ArithmeticEngine(), {"codec": Codec.PLANES}, "codec planes here, none there"),
        (ArithmeticEngine(), {"shard_bytes": 2 * SHARD_BYTES}, "shard size in bytes 524288 here, 262144 there"),
    ],
    ids=["model", "layers", "norm", "element-type", "codec", "shard-size"],
)
def test_going_on_with_another_run_is_refused_with_the_difference(
    site: Site, engine: ArithmeticEngine, wanted: dict[str, Any], difference: str
) -> None:
    with pytest.raises(Stopped):
        site.run(should_stop=after(26))
    before = shards_of(site.out)

    with pytest.raises(Refused) as refused:
        site.run(engine, **wanted)

    assert difference in refused.value.message
    assert shards_of(site.out) == before
    assert engine.computed == []


def test_a_run_that_is_complete_is_not_done_again_and_another_one_there_is_refused(site: Site) -> None:
    site.run()
    engine = ArithmeticEngine()

    again = site.run(engine)

    assert (again.records, again.tokens_per_second, engine.computed) == (60, None, [])
    with pytest.raises(Refused, match="model revision 2 here, 1 there"):
        site.run(ArithmeticEngine(facts_with(model_revision="2")))


def test_a_shard_counts_by_what_is_in_it_and_not_by_its_name(site: Site) -> None:
    with pytest.raises(Stopped):
        site.run(should_stop=after(30))
    first, second = sorted(site.out.glob("shard-*.safetensors"))[:2]
    first.write_bytes(second.read_bytes())

    with pytest.raises(Refused, match="its records are not those of its range"):
        site.run()


def test_something_else_than_a_corpus_is_refused(site: Site) -> None:
    with site.open() as session, pytest.raises(UsageError, match="is a response_set"):
        source_of(session, "vol/responses.jsonl")
