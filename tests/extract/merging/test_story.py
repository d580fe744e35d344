"""Merge and vocabulary as a user has them: response sets, one corpus, one map, verified, by the command line alone."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import torch
import zstandard
from safetensors import safe_open

from tests.extract.conftest import Stages
from tests.extract.merging.merged import Corpus, read_corpus
from tests.extract.texts import json_lines, openai, sharegpt, some_conversations, write_lines

CONVERSATIONS = some_conversations(320, seed=7)


def three_response_sets(root: Path) -> list[Path]:
    """Write 320 different conversations in three forms, with 10 of the first set again in the second."""
    first = write_lines(root / "raw-a" / "part-000.jsonl", map(sharegpt, CONVERSATIONS[:150]))
    second = root / "raw-b.jsonl.zst"
    repeated = [*CONVERSATIONS[:10], *CONVERSATIONS[150:250]]
    second.write_bytes(zstandard.compress(json_lines(map(openai, repeated))))
    third = root / "raw-c.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([openai(each) for each in CONVERSATIONS[250:]]), third)
    return [first, second, third]


def merge_words(sources: list[Path], tokenizer: Path, out: Path) -> list[Any]:
    return ["extract", "merge", *sources, "--out", out, "--tokenizer", tokenizer, "--seed", "5", "--name", "corpus"]


def test_response_sets_become_a_corpus_and_a_map_that_verify(stages: Stages, gguf: Path) -> None:
    sources = three_response_sets(stages.root)
    stages.done("scan", "vol")

    answer = stages.done(*merge_words(sources, gguf, stages.root / "corpus"), "--json").json()

    corpus = read_corpus(stages.root / "corpus")

    assert answer["schema"] == "artifactctl.extract_merge/1"
    assert answer["records"] == 320 == len(corpus.records)
    assert answer["tokens"] == sum(len(ids) for ids, _ in corpus.records)
    assert [(each["read"], each["kept"], each["dropped"]) for each in answer["sources"]] == [
        (150, 150, {}),
        (110, 100, {"duplicate": 10}),
        (70, 70, {}),
    ]
    assert {json.dumps(each["messages"]) for each in corpus.readable} == {json.dumps(each) for each in CONVERSATIONS}
    assert_reads_by_record(stages.root / "corpus" / "packed.safetensors", corpus)
    assert stages.names()["corpus"] == "merged_corpus"
    lineage = stages.done("lineage", "corpus", "--up").stdout
    assert all(f"{name}  response_set" in lineage for name in ("vol/raw-b.jsonl.zst", "vol/raw-c.parquet"))
    assert "merged_from" in lineage

    made = stages.done(
        "extract",
        "vocab",
        "--corpus",
        "corpus",
        "--draft-size",
        "60",
        "--out",
        stages.root / "map",
        "--name",
        "map",
        "--json",
    ).json()

    learned = [token for ids, mask in corpus.records for token, is_learned in zip(ids, mask, strict=True) if is_learned]
    t2d = torch.load(stages.root / "map" / "t2d.pt", weights_only=True)
    d2t = torch.load(stages.root / "map" / "d2t.pt", weights_only=True)
    assert (t2d.dtype, t2d.shape) == (torch.bool, (49152,))
    assert (d2t.dtype, d2t.shape) == (torch.int64, (60,))
    assert torch.equal(t2d.nonzero().flatten(), d2t + torch.arange(60))
    covered = sum(bool(t2d[token]) for token in learned)
    assert made["draft_size"] == 60
    assert made["lost_tokens"] == len(learned) - covered
    assert made["coverage"] == covered / len(learned)
    assert "merged_corpus" in stages.done("lineage", "map", "--up").stdout
    verified = stages.done("verify", "corpus", "map", "--json").json()["results"]
    assert [(each["ok"], each["problems"]) for each in verified] == [(True, []), (True, [])]


def assert_reads_by_record(path: Path, corpus: Corpus) -> None:
    with safe_open(path, framework="pt") as packed:
        offsets = packed.get_slice("offsets")[100:102].tolist()
        ids = packed.get_slice("token_ids")[offsets[0] : offsets[1]]
        mask = packed.get_slice("loss_mask")[offsets[0] : offsets[1]]
    assert (ids.dtype, mask.dtype) == (torch.int32, torch.bool)
    assert ids.tolist() == corpus.records[100][0]
    assert corpus.readable[100]["loss_tokens"] == int(mask.sum())


def test_a_second_run_finds_the_corpus_and_another_one_is_refused(stages: Stages, tiny_folder: Path) -> None:
    sources = three_response_sets(stages.root)
    words = merge_words(sources, tiny_folder, stages.root / "corpus")
    stages.done(*words)
    before = (stages.root / "corpus" / "manifest.json").stat()

    again = stages.done(*words, "--json").json()
    other = stages.done(*words, "--seed", "6", code=2)

    assert again["is_new"] is False
    assert (stages.root / "corpus" / "manifest.json").stat().st_mtime_ns == before.st_mtime_ns
    assert "is there already, and is not this corpus" in other.stderr


def test_records_that_cannot_be_read_are_listed_by_file_and_line_and_the_code_is_5(
    stages: Stages, tiny_folder: Path
) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, CONVERSATIONS[:5]))
    source.write_bytes(source.read_bytes() + b'\n{"half": \n' + json_lines([openai(CONVERSATIONS[6]), {"other": 1}]))
    stages.done("scan", "vol")

    ended = stages.done(*merge_words([source], tiny_folder, stages.root / "corpus"), "--json", code=5)

    answer = ended.json()
    assert [(each["line"], each["problem"]) for each in answer["unreadable"]] == [
        (7, "it is no JSON"),
        (9, "it has neither `conversations` nor `messages` nor `input_ids`"),
    ]
    assert f"unreadable: {source}:7: it is no JSON\n" in ended.stderr
    assert answer["sources"][0]["read"] == 8
    assert answer["sources"][0]["dropped"] == {"unreadable": 2}
    assert f"{source}:9: " in (stages.root / "corpus" / "unreadable.txt").read_text()
    (verified,) = stages.done("verify", "corpus", "--json").json()["results"]
    assert verified["ok"]
    assert "does not count as proof" in stages.done("verify", "corpus").stdout


def test_what_cannot_be_registered_is_said_before_anything_is_read(stages: Stages, tmp_path: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, CONVERSATIONS[:5]))

    refused = stages(*merge_words([source], tmp_path / "no-tokenizer", tmp_path / "elsewhere"))

    assert refused.code == 2
    assert "lies below no managed root" in refused.stderr
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["extract", "mrege"], "there is no stage `mrege`"),
        (["extract", "merge", "raw.jsonl", "--out", "corpus"], "--tokenizer is missing"),
        (["extract", "merge", "raw.jsonl", "--tokenizer", "x"], "--out is missing"),
        (["extract", "merge", "nothing", "--out", "corpus", "--tokenizer", "x"], "knows no artifact `nothing`"),
        (["extract", "vocab", "--corpus", "nothing", "--draft-size", "3", "--out", "map"], "no artifact `nothing`"),
        (["extract", "vocab", "--corpus", "c", "--draft-size", "3"], "--out is missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_wrong_is_named(stages: Stages, words: list[str], said: str) -> None:
    write_lines(stages.root / "raw.jsonl", map(openai, CONVERSATIONS[:5]))

    ended = stages.done(*words, code=2)

    assert said in ended.stderr
    assert "hint: " in ended.stderr
