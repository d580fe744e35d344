"""A dump after an accident: which records have to be made again, by number, each with the reason."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.verification import Depth, ToRedo, VerifyResult
from artifactctl.inventory.registering import register
from artifactctl.inventory.statements import Statement
from artifactctl.inventory.verifying import verify
from tests.artifacts import corpora, hidden_states
from tests.bench.command_line import CommandLine
from tests.inventory.ground import ACTOR, HERE, NOON, Ground

VALUES = Depth(reads_values=True)
NOT_FINITE = "hidden_state holds a number that is not finite (NaN or infinite), the first is element 0"


def check(ground: Ground, name: str, depth: Depth = VALUES) -> VerifyResult:
    (result,) = verify(ground.host, ground.catalog, name, here=HERE, now=NOON, actor=ACTOR, depth=depth)
    return result


def redone(result: VerifyResult) -> dict[int | None, str]:
    assert result.redo is not None
    return {each.record: each.why for each in result.redo}


def spoil(folder: Path) -> None:
    """Of the records 0-9 take away 3, 4 and 8, tear 5, make 6 short, and give 7 a NaN."""
    rows = folder / "rows_0-2000"
    for number in (3, 4, 8):
        (rows / f"data_{number}.ckpt").unlink()
    torn = rows / "data_5.ckpt"
    torn.write_bytes(torn.read_bytes()[:-100])
    for number, change in ((6, _shortened), (7, _with_a_nan)):
        place = rows / f"data_{number}.ckpt"
        sample = torch.load(place, weights_only=True)
        raw = io.BytesIO()
        torch.save(change(sample), raw)
        place.write_bytes(raw.getvalue())


def _shortened(sample: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {**sample, "aux_hidden_state": sample["aux_hidden_state"][:, :-1].clone()}


def _with_a_nan(sample: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    sample["hidden_state"][0, 0, 0] = float("nan")
    return sample


@dataclass(frozen=True)
class Broken:
    """A dump of ten records after the accident, and its scan."""

    ground: Ground
    folder: Path


@pytest.fixture
def broken(ground: Ground) -> Broken:
    folder = hidden_states.specforge_dump(ground.data / "dump", lengths=(4,) * 10)
    spoil(folder)
    return Broken(ground, folder)


def test_the_exact_records_of_a_specforge_dump_are_named_each_with_its_reason(broken: Broken) -> None:
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="dump", records=10, tokens=40)
    register(
        broken.ground.host, broken.ground.catalog, bytes(broken.folder), declared, here=HERE, now=NOON, actor=ACTOR
    )

    result = check(broken.ground, "dump")

    assert not result.ok
    assert redone(result) == {
        3: "it is missing",
        4: "it is missing",
        5: "its end, where its list of tensors stands, is missing or damaged",
        6: "it has 4 token ids and aux_hidden_state of 3 tokens",
        7: NOT_FINITE,
        8: "it is missing",
    }
    assert result.redo is not None
    assert {each.member for each in result.redo} == {
        b"",
        b"rows_0-2000/data_5.ckpt",
        b"rows_0-2000/data_6.ckpt",
        b"rows_0-2000/data_7.ckpt",
    }
    assert "missing records: 3-4, 8" in result.problems


def test_values_are_read_only_when_they_are_asked_for(broken: Broken) -> None:
    broken.ground.scan()

    result = check(broken.ground, "scratch/dump", Depth())

    assert result.redo is None
    assert not any("finite" in problem for problem in result.problems)
    assert "missing records: 3-4, 8" in result.problems


def test_records_beyond_the_last_are_missing_where_the_corpus_has_them(ground: Ground) -> None:
    hidden_states.speculators_dump(ground.data / "dump", lengths=(4, 6, 9))
    path = corpora.json_lines(ground.data / "m.jsonl.zst", corpora.tokenised(5))
    corpus = Statement(kind=ArtifactKind.MERGED_CORPUS, name="corpus", records=5)
    register(ground.host, ground.catalog, bytes(path), corpus, here=HERE, now=NOON, actor=ACTOR)
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="dump", inputs=("corpus",))
    register(ground.host, ground.catalog, bytes(ground.data / "dump"), declared, here=HERE, now=NOON, actor=ACTOR)

    assert check(ground, "dump").redo == (ToRedo(3, b"", "it is missing"), ToRedo(4, b"", "it is missing"))


def test_holes_that_were_known_when_the_records_were_declared_are_no_fault(ground: Ground) -> None:
    folder = hidden_states.specforge_dump(ground.data / "dump", lengths=(4, 6, 5))
    (folder / "rows_0-2000" / "data_1.ckpt").unlink()
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="dump", records=2, tokens=9)
    register(ground.host, ground.catalog, bytes(folder), declared, here=HERE, now=NOON, actor=ACTOR)

    result = check(ground, "dump")

    assert (result.ok, result.redo, result.problems) == (True, (), ())


def test_a_folder_of_rows_by_itself_begins_with_its_own_first(ground: Ground) -> None:
    whole = hidden_states.specforge_dump(ground.data / "all", lengths=(4,) * 5, group=2)
    (whole / "rows_2-4").rename(ground.data / "rows_2-4")
    (ground.data / "rows_2-4" / "data_2.ckpt").unlink()
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="some", records=2)
    register(ground.host, ground.catalog, bytes(ground.data / "rows_2-4"), declared, here=HERE, now=NOON, actor=ACTOR)

    assert check(ground, "some").redo == (ToRedo(2, b"", "it is missing"),)


def test_of_shards_with_many_records_the_file_is_named(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))
    ground.scan()
    torn = folder / "shard-00001.safetensors"
    torn.write_bytes(torn.read_bytes()[:-2])

    result = check(ground, "scratch/hs")

    assert result.redo == (ToRedo(None, b"shard-00001.safetensors", "2 bytes are missing at its end"),)


def test_the_list_is_written_for_the_program_that_makes_them_again(tmp_path: Path, cli: CommandLine) -> None:
    data = tmp_path / "scratch"
    spoil(hidden_states.specforge_dump(data / "dump", lengths=(4,) * 10))
    for words in (("init",), ("root", "add", data, "--name", "scratch"), ("scan",)):
        assert cli(*words).code == 0

    done = cli("verify", "scratch/dump", "--redo-list", tmp_path / "redo.jsonl")

    assert done.code == 3, done.stderr
    assert "to be made again: 6 records" in done.stdout
    first, *lines = map(json.loads, (tmp_path / "redo.jsonl").read_text(encoding="utf-8").splitlines())
    assert first == {"schema": "artifactctl.redo-list/1"}
    assert [line["record"] for line in lines] == [3, 4, 5, 6, 7, 8]
    assert lines[4] == {
        "artifact": "scratch/dump",
        "host": lines[0]["host"],
        "record": 7,
        "path": "rows_0-2000/data_7.ckpt",
        "why": NOT_FINITE,
    }
    again = cli("verify", "scratch/dump", "--redo-list", data / "dump" / "rows_0-2000" / "data_0.ckpt")
    assert again.code == 4
    assert "stays as it is" in again.stderr
