"""Maps by the command line: what is written, what an old map covers of a new corpus, in every packaging."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.extract.conftest import Stages
from tests.extract.texts import write_lines

# Learned: token 1 sixty times, 2 thirty, 3 nine, 4 once. Not learned: token 5, a thousand times.
CORPUS = [{"input_ids": [5] * 100 + [1] * 6 + [2] * 3, "loss_mask": [0] * 100 + [1] * 9}] * 10 + [
    {"input_ids": [3] * 9 + [4], "loss_mask": [1] * 10}
]
T2D = torch.tensor([False, True, True, False, False, True])
D2T = torch.tensor([1, 1, 3])


def as_two_files(folder: Path) -> None:
    torch.save(T2D, folder / "t2d.pt")
    torch.save(D2T, folder / "d2t.pt")


def as_numpy(folder: Path) -> None:
    np.save(folder / "t2d-3.npy", T2D.numpy())
    np.save(folder / "d2t-3.npy", D2T.numpy())


def as_one_file(folder: Path) -> None:
    torch.save({"t2d": T2D, "d2t": D2T}, folder / "vocab_mapping.pt")


@pytest.fixture
def corpus(stages: Stages) -> str:
    write_lines(stages.root / "corpus.jsonl", CORPUS)
    stages.done("scan", "vol")
    return "vol/corpus.jsonl"


@pytest.mark.parametrize("write", [as_two_files, as_numpy, as_one_file])
def test_what_an_old_map_covers_of_a_new_corpus(stages: Stages, corpus: str, write: Callable[[Path], None]) -> None:
    (stages.root / "old").mkdir()
    write(stages.root / "old")
    words = ["extract", "vocab", "--check", str(stages.root / "old"), "--corpus", corpus, "--json"]

    found = stages.done(*words, "--min-coverage", "90%").json()
    too_little = stages.done(*words, "--min-coverage", "90.01%", code=3).json()

    assert found["schema"] == "artifactctl.extract_vocab_check/1"
    assert (found["draft_size"], found["coverage"], found["lost_tokens"], found["unseen"]) == (3, 0.9, 10, 1)
    assert found["most_lost"] == [{"token_id": 3, "count": 9}, {"token_id": 4, "count": 1}]
    assert (found["ok"], too_little["ok"], too_little["min_coverage"]) == (True, False, 0.9001)


def test_a_map_counts_only_what_is_learned_and_a_second_run_finds_it(stages: Stages, corpus: str) -> None:
    words = ["extract", "vocab", "--corpus", corpus, "--draft-size", "2", "--target-size", "6", "--out", "map"]

    made = stages.done(*words, "--json").json()
    before = (stages.root / "map" / "t2d.pt").stat().st_mtime_ns
    stages.done(*words)

    assert torch.load(stages.root / "map" / "d2t.pt", weights_only=True).tolist() == [1, 1]
    assert (made["coverage"], made["lost_tokens"]) == (90 / 100, 10)
    assert (stages.root / "map" / "t2d.pt").stat().st_mtime_ns == before
    assert stages.names()["vol/map"] == "vocab_map"
    assert made["content_digest"] in stages.done("show", "vol/map").stdout
    stages.done("verify", "vol/map")
    refused = stages.done(*words, "--draft-size", "3", code=2)
    assert "is there already, and is not this map" in refused.stderr


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda folder: torch.save(T2D, folder / "t2d.pt"), "it lacks t2d or d2t"),
        (lambda folder: [as_two_files(folder), torch.save(D2T + 1, folder / "d2t.pt")], "name different tokens"),
        (lambda folder: [as_two_files(folder), torch.save(D2T.float(), folder / "d2t.pt")], "d2t is FloatStorage"),
        (lambda folder: [as_two_files(folder), (folder / "d2t.pt").write_bytes(b"no torch file")], "is no vocabulary"),
        (lambda folder: None, "it lacks t2d or d2t"),
    ],
    ids=["half a map", "contradiction", "another type", "no torch file", "nothing"],
)
def test_what_is_no_map_is_said(stages: Stages, corpus: str, write: Callable[[Path], object], said: str) -> None:
    (stages.root / "old").mkdir()
    write(stages.root / "old")

    ended = stages.done("extract", "vocab", "--check", stages.root / "old", "--corpus", corpus, code=2)

    assert said in ended.stderr


def test_how_large_the_target_is_must_be_known(stages: Stages, corpus: str) -> None:
    ended = stages.done("extract", "vocab", "--corpus", corpus, "--draft-size", "2", "--out", "map", code=2)

    assert "give --target-size" in ended.stderr
