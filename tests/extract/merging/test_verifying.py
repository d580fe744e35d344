"""`verify` derives a merged corpus again: a merge that lost, doubled, moved or misaligned anything is not verified."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from safetensors.numpy import load_file, save_file

from artifactctl.recognition.merged_corpora import contradictions, read_claims
from artifactctl.recognition.views import FolderView
from extract.merging.tokenization import CorpusTokenizer
from tests.extract.conftest import Stages
from tests.extract.merging.merged import merged
from tests.extract.texts import openai, some_conversations, write_lines

TALKS = some_conversations(30, seed=4)
Tensors = dict[str, Any]


@pytest.fixture
def corpus(tmp_path: Path, tiny: CorpusTokenizer) -> Path:
    parts = (TALKS[:20], [*TALKS[:2], *TALKS[20:]])
    files = [write_lines(tmp_path / f"{n}.jsonl", map(openai, part)) for n, part in enumerate(parts)]
    merged(tmp_path / "corpus", files, tiny)
    return tmp_path / "corpus"


def view_of(place: Path) -> FolderView:
    def read(relative: bytes, offset: int, length: int) -> bytes:
        with open(place / relative.decode(), "rb") as file:
            file.seek(offset)
            return file.read(length)

    files = {path.name.encode(): path.stat().st_size for path in place.iterdir()}
    return FolderView(relative=b"", files=files, directories=frozenset(), links=frozenset(), read=read)


def problems_of(place: Path) -> list[str]:
    claims = read_claims(view_of(place))
    assert claims is not None
    return contradictions(view_of(place), claims)


def change_manifest(place: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((place / "manifest.json").read_bytes())
    change(content)
    (place / "manifest.json").write_text(json.dumps(content))


def without_last_record(tensors: Tensors) -> None:
    end = tensors["offsets"][-2]
    for name in ("token_ids", "loss_mask"):
        tensors[name] = tensors[name][:end]
    for name in ("lines", "sources", "content_keys"):
        tensors[name] = tensors[name][:-1]
    tensors["offsets"] = tensors["offsets"][:-1]


def another_token(tensors: Tensors) -> None:
    tensors["token_ids"][40] ^= 1


def another_source(tensors: Tensors) -> None:
    tensors["sources"][3] ^= 1


def nothing_to_learn(tensors: Tensors) -> None:
    tensors["loss_mask"][: tensors["offsets"][1]] = False


def one_token_less_to_learn(tensors: Tensors) -> None:
    tensors["loss_mask"][np.flatnonzero(tensors["loss_mask"])[0]] = False


def moved_offset(tensors: Tensors) -> None:
    tensors["offsets"][5] += 1


def first_record_again(tensors: Tensors) -> None:
    length = tensors["offsets"][1]
    for name in ("token_ids", "loss_mask"):
        tensors[name] = np.concatenate([tensors[name][:length], tensors[name]])
    for name in ("lines", "sources", "content_keys"):
        tensors[name] = np.concatenate([tensors[name][:1], tensors[name]])
    tensors["offsets"] = np.concatenate([[0], tensors["offsets"] + length])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without_last_record, "its manifest asks for"),
        (first_record_again, "its manifest asks for"),
        (another_token, "its token ids are not those of its content key"),
        (another_source, "its manifest keeps"),
        (nothing_to_learn, "its loss mask is none"),
        (one_token_less_to_learn, "tokens are under its loss mask, its manifest says"),
        (moved_offset, "its token ids are not those of its content key"),
    ],
)
def test_what_was_done_to_the_packed_records_is_noticed(
    corpus: Path, damage: Callable[[Tensors], None], said: str
) -> None:
    assert problems_of(corpus) == []
    tensors = load_file(corpus / "packed.safetensors")

    damage(tensors)
    save_file(tensors, corpus / "packed.safetensors")

    assert said in "\n".join(problems_of(corpus))


def test_a_manifest_that_was_adapted_to_a_lost_record_does_not_reconcile(corpus: Path) -> None:
    tensors = load_file(corpus / "packed.safetensors")
    origin = int(tensors["sources"][-1])
    without_last_record(tensors)
    save_file(tensors, corpus / "packed.safetensors")

    def adapt(content: dict[str, Any]) -> None:
        content["records"], content["tokens"] = 29, int(tensors["offsets"][-1])
        content["merge"]["loss_tokens"] = int(tensors["loss_mask"].sum())
        content["merge"]["sources"][origin]["kept"] -= 1

    change_manifest(corpus, adapt)

    assert "1 are unaccounted for" in "\n".join(problems_of(corpus))


def test_a_record_that_is_there_twice_is_noticed_even_where_all_counts_agree(corpus: Path) -> None:
    tensors = load_file(corpus / "packed.safetensors")
    origin, length = int(tensors["sources"][0]), int(tensors["offsets"][1])
    learned = int(tensors["loss_mask"][:length].sum())
    first_record_again(tensors)
    save_file(tensors, corpus / "packed.safetensors")

    def adapt(content: dict[str, Any]) -> None:
        content["records"] += 1
        content["tokens"] += length
        content["merge"]["loss_tokens"] += learned
        content["merge"]["sources"][origin]["kept"] += 1
        content["merge"]["sources"][origin]["read"] += 1

    change_manifest(corpus, adapt)

    assert "there twice" in "\n".join(problems_of(corpus))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines[1:], lines[0]], "line 1: it is not the record that is packed there"),
        (lambda lines: lines[:-2], "ends after 28 records, 2 more are packed"),
        (lambda lines: [*lines, lines[0]], "line 31: it is not the record that is packed there"),
    ],
    ids=["moved", "lost", "added"],
)
def test_readable_records_stand_beside_the_packed_ones(
    corpus: Path, change: Callable[[list[bytes]], list[bytes]], said: str
) -> None:
    path = corpus / "records.jsonl.zst"
    with zstandard.open(path, "rb") as packed:
        lines = packed.read().splitlines(keepends=True)
    path.write_bytes(zstandard.compress(b"".join(change(lines))))

    assert said in "\n".join(problems_of(corpus))


def test_a_corpus_whose_source_has_grown_since_is_not_verified(stages: Stages, tiny_folder: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, TALKS[:20]))
    stages.done("scan", "vol")
    stages.done("extract", "merge", source, "--out", stages.root / "corpus", "--tokenizer", tiny_folder)
    stages.done("verify", "vol/corpus")

    write_lines(source, map(openai, TALKS))
    stages.done("scan", "vol", "--accept", "vol/raw.jsonl")
    (result,) = stages.done("verify", "vol/corpus", "--json", code=3).json()["results"]

    assert result["problems"] == ["vol/raw.jsonl has 30 records, and 20 of it were read for the merge"]


def test_a_corpus_is_not_merged_from_what_its_manifest_does_not_name(stages: Stages, tiny_folder: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, TALKS[:20]))
    write_lines(stages.root / "other.jsonl", map(openai, TALKS[20:]))
    stages.done("scan", "vol")
    stages.done("extract", "merge", source, "--out", stages.root / "corpus", "--tokenizer", tiny_folder)
    stages.done("link", "vol/corpus", "--input", "vol/other.jsonl:merged_from")

    (result,) = stages.done("verify", "vol/corpus", "--json", code=3).json()["results"]

    assert "merged from vol/other.jsonl, of which its manifest has nothing" in result["problems"][0]
