"""Packed shards are recognised as hidden states, counted, and found torn or contradicting themselves."""

from pathlib import Path

import pytest

from artifactctl.api.formats import Codec
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.contents import inspect
from artifactctl.recognition.packed_shards import checksums_of
from artifactctl.recognition.safetensors_header import read_header
from artifactctl.recognition.sightings import Layout
from tests.extract.shards import made
from tests.recognition.walking import look, reader

NAME = b"shard-00000.safetensors"
CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def written(folder: Path, codec: Codec) -> Path:
    return made.packed(folder, made.records(), codec=codec) / "shard-00000.safetensors"


@CODECS
def test_a_shard_tells_its_records_and_tokens(tmp_path: Path, codec: Codec) -> None:
    path = written(tmp_path, codec)

    contents = inspect(reader(tmp_path), NAME, path.stat().st_size)

    assert (contents.tokens, contents.records, contents.problems) == (sum(made.LENGTHS), len(made.LENGTHS), ())
    assert set(checksums_of(read_header(reader(tmp_path), NAME, path.stat().st_size))) >= {"input_ids", "token_hashes"}


@CODECS
def test_a_finished_dump_is_recognised_by_its_manifest_and_an_unfinished_one_by_its_shards(
    tmp_path: Path, codec: Codec
) -> None:
    written(tmp_path / "done", codec)
    (tmp_path / "begun").mkdir()
    begun = made.writer(tmp_path / "begun", made.plan(codec))
    begun.append(made.record(0, 5))
    begun.flush()
    begun.append(made.record(1, 7))

    found = look(tmp_path).sightings

    assert found["done"].layout is Layout.MANIFEST
    assert (found["done"].kind, found["done"].tokens, found["done"].records) == (ArtifactKind.HIDDEN_STATES, 387, 5)
    assert (found["begun"].kind, found["begun"].tokens) == (ArtifactKind.HIDDEN_STATES, 5)
    assert found["begun"].unfinished
    begun.abandon()


@CODECS
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tokens": "386"}, "input_ids is not what 5 records of 386 tokens need"),
        ({"records": "6"}, "record_offsets is not what 6 records"),
        ({"records": "five"}, "does not say how many"),
        ({"tokens": None}, "does not say how many"),
    ],
)
def test_a_header_that_contradicts_itself_is_a_problem(
    tmp_path: Path, codec: Codec, changes: dict[str, str | None], problem: str
) -> None:
    path = written(tmp_path, codec)
    made.rewrite_metadata(path, **changes)

    contents = inspect(reader(tmp_path), NAME, path.stat().st_size)

    assert contents.tokens is None
    assert problem in contents.problems[0]


@pytest.mark.parametrize("checksums", ["", "[]", "{", '{"input_ids": 5, "nothing": "00"}', "[" * 10_000])
def test_checksums_that_are_none_are_none(tmp_path: Path, checksums: str) -> None:
    path = written(tmp_path, Codec.NONE)
    made.rewrite_metadata(path, checksums=checksums if len(checksums) < 500 else "[" * 500)

    assert checksums_of(read_header(reader(tmp_path), NAME, path.stat().st_size)) == {}
