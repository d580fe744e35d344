"""What a source is: files in four forms that say the same, and torn ones, which have no number of records."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from artifactctl.domain.errors import UsageError
from extract.merging.sources import Reading, Source, SourceTorn, files_of
from tests.extract.texts import json_lines, openai, sharegpt, some_conversations

RECORDS = [*map(openai, some_conversations(20, seed=1))]
LINES = json_lines(RECORDS)
PACK = zstandard.ZstdCompressor(write_checksum=True).compress


def parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)


FORMS: dict[str, Callable[[Path], object]] = {
    "raw.jsonl": lambda path: path.write_bytes(LINES),
    "raw.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES[:100]) + gzip.compress(LINES[100:])),
    "raw.jsonl.zst": lambda path: path.write_bytes(PACK(LINES[:100]) + PACK(LINES[100:])),
    "raw.parquet": parquet,
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_same_records_in_order(tmp_path: Path, name: str) -> None:
    FORMS[name](tmp_path / name)

    read = list(Reading(Source(path=tmp_path / name)).records())

    assert [record.value for record in read] == RECORDS
    assert [record.line for record in read] == list(range(1, 21))


@pytest.mark.parametrize("name", ["raw.jsonl.gz", "raw.jsonl.zst", "raw.parquet"])
@pytest.mark.parametrize("lost_bytes", [1, 30])
def test_a_file_that_is_cut_off_is_torn(tmp_path: Path, name: str, lost_bytes: int) -> None:
    FORMS[name](tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-lost_bytes])

    with pytest.raises(SourceTorn, match="how many records it holds is not known"):
        list(Reading(Source(path=tmp_path / name)).records())


@pytest.mark.parametrize("name", ["raw.jsonl.gz", "raw.jsonl.zst"])
def test_a_damaged_file_is_torn(tmp_path: Path, name: str) -> None:
    FORMS[name](tmp_path / name)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SourceTorn):
        list(Reading(Source(path=tmp_path / name)).records())


def test_a_line_that_is_cut_off_is_a_record_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "raw.jsonl").write_bytes(LINES[:-20])

    *whole, torn = Reading(Source(path=tmp_path / "raw.jsonl")).records()

    assert [record.value for record in whole] == RECORDS[:-1]
    assert (torn.line, torn.value, torn.problem) == (20, None, "it is no JSON")


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    for name in ("raw.jsonl", "raw.jsonl.gz", "raw.jsonl.zst"):
        (tmp_path / name).write_bytes(b"")

        assert list(Reading(Source(path=tmp_path / name)).records()) == []


def test_a_folder_means_its_corpus_files_by_name(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.parquet", "notes.md"):
        (tmp_path / name).write_bytes(json_lines([sharegpt([])]))

    assert files_of(tmp_path) == [tmp_path / "a.parquet", tmp_path / "b.jsonl"]


@pytest.mark.parametrize("name", ["", "absent.jsonl", "notes.md"])
def test_what_is_no_source_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.md").write_text("no corpus")

    with pytest.raises(UsageError):
        files_of(tmp_path / name)
