"""`extract merge --check`: what of the sources is in somebody's merge, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from tests.extract.conftest import Stages
from tests.extract.texts import openai, sharegpt, some_conversations, write_lines

TALKS = some_conversations(40, seed=11)


def somebodys_merge() -> list[dict[str, Any]]:
    """Return a merge of the first 30 conversations without 2, with 1 twice, 1 cut, 1 altered, 1 from elsewhere."""
    records = [openai([dict(message) for message in talk]) for talk in TALKS[:30]]
    records[3]["messages"][-1]["content"] = records[3]["messages"][-1]["content"][:-5]
    records[4]["messages"][1 + (TALKS[4][0]["role"] == "system")]["content"] = "something else altogether"
    kept = [record for number, record in enumerate(records) if number not in (7, 20)]
    return [*reversed(kept), kept[0], openai(TALKS[39])]


def test_another_scripts_merge_is_compared_record_by_record(stages: Stages) -> None:
    first = write_lines(stages.root / "a.jsonl", map(sharegpt, TALKS[:15]))
    second = write_lines(stages.root / "b.jsonl", map(openai, TALKS[15:30]))
    merge = write_lines(stages.root / "theirs.jsonl", somebodys_merge())

    ended = stages.done("extract", "merge", "--check", merge, first, second, "--json", code=3)

    found = ended.json()
    assert found["schema"] == "artifactctl.extract_merge_check/1"
    assert (found["ok"], found["records"], found["doubled"], found["of_no_source"]) == (False, 30, 1, 1)
    assert [{key: each[key] for key in ("read", "in", "missing", "cut", "altered")} for each in found["sources"]] == [
        {"read": 15, "in": 12, "missing": 1, "cut": 1, "altered": 1},
        {"read": 15, "in": 14, "missing": 1, "cut": 0, "altered": 0},
    ]
    assert {(each["what"], each["path"], each["line"]) for each in found["examples"]} == {
        ("cut", str(first), 4),
        ("altered", str(first), 5),
        ("missing", str(first), 8),
        ("missing", str(second), 6),
        ("doubled", str(first), 1),
    }


def test_a_faithful_merge_passes(stages: Stages) -> None:
    source = write_lines(stages.root / "a.jsonl", map(sharegpt, TALKS))
    merge = write_lines(stages.root / "theirs.jsonl", map(openai, reversed(TALKS)))

    assert "all that the sources hold, once" in stages.done("extract", "merge", "--check", merge, source).stdout


def test_a_corpus_of_ours_is_compared_by_its_own_settings(stages: Stages, tiny_folder: Path) -> None:
    first = write_lines(stages.root / "a.jsonl", [*map(sharegpt, TALKS[:15]), sharegpt([])])
    second = write_lines(stages.root / "b.jsonl", map(openai, TALKS[10:30]))
    out = stages.root / "corpus"
    words = ["--tokenizer", str(tiny_folder), "--max-tokens", "200"]
    stages.done("extract", "merge", first, second, "--out", out, *words)

    whole = stages.done("extract", "merge", "--check", "vol/corpus", first, second, "--json").json()
    write_lines(stages.root / "c.jsonl", map(openai, TALKS[30:31]))
    more = stages.done("extract", "merge", "--check", out, first, second, stages.root / "c.jsonl", "--json", code=3)

    assert [(each["in"], each["left_out"]) for each in whole["sources"]] == [(15, {"empty": 1}), (20, {})]
    assert more.json()["sources"][2]["missing"] == 1


def test_token_ids_are_compared_as_they_are_and_a_moved_mask_is_an_alteration(stages: Stages) -> None:
    records = [{"input_ids": [number, 1, 2], "loss_mask": [0, 1, 1]} for number in range(5)]
    source = write_lines(stages.root / "a.jsonl", records)
    cut = {"input_ids": [3, 1], "loss_mask": [0, 1]}
    merge = write_lines(stages.root / "theirs.jsonl", [*records[:2], {**records[2], "loss_mask": [0, 0, 1]}, cut])

    found = stages.done("extract", "merge", "--check", merge, source, "--json", code=3).json()

    (counts,) = found["sources"]
    assert {key: counts[key] for key in ("in", "missing", "cut", "altered")} == {
        "in": 2,
        "missing": 1,
        "cut": 1,
        "altered": 1,
    }


@pytest.mark.parametrize("words", [["--out", "x"], []], ids=["with --out", "a corpus that holds nothing"])
def test_a_check_that_cannot_be_made_is_an_error(stages: Stages, words: list[str]) -> None:
    source = write_lines(stages.root / "a.jsonl", map(sharegpt, TALKS[:2]))
    empty = write_lines(stages.root / "empty.jsonl", [])

    stages.done("extract", "merge", "--check", empty, source, *words, code=2)
