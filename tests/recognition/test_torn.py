"""What is torn, unfinished or hostile is recognised as such and never counted as good."""

import gzip
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.contents import inspect
from artifactctl.recognition.parquet_footer import TornFooter, read_footer
from artifactctl.recognition.pickled_tensors import NotPlainTensors, describe
from artifactctl.recognition.safetensors_header import TornHeader, read_header
from tests.artifacts import corpora, hidden_states, vocab_maps
from tests.recognition.walking import look, reader


def cut(path: Path, *, keep: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])


class Detonator:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (self.trace,))


def test_a_truncated_shard_is_named_and_its_tokens_do_not_count(tmp_path):
    hidden_states.safetensors_shards(tmp_path / "hs", rows=(5, 7, 3))
    cut(tmp_path / "hs" / "shard-00001.safetensors", keep=0.9)

    sighting = look(tmp_path).sightings["hs"]

    assert sighting.kind is ArtifactKind.HIDDEN_STATES
    assert sighting.tokens == 8
    assert len(sighting.problems) == 1
    assert sighting.problems[0].startswith("shard-00001.safetensors: ")


def test_shards_without_one_readable_header_are_not_recognised(tmp_path):
    hidden_states.safetensors_shards(tmp_path / "hs", rows=(5,))
    cut(tmp_path / "hs" / "shard-00000.safetensors", keep=0.1)

    assert look(tmp_path).sightings == {}


@pytest.mark.parametrize("removed", [1, 100, 10_000])
def test_every_cut_of_a_safetensors_file_is_seen(tmp_path, removed):
    hidden_states.safetensors_shards(tmp_path, rows=(400,))
    path = tmp_path / "shard-00000.safetensors"
    size = path.stat().st_size - removed
    with path.open("r+b") as file:
        file.truncate(size)

    with pytest.raises(TornHeader):
        read_header(reader(tmp_path), b"shard-00000.safetensors", size)


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0{}x", b"\x08\0\0\0\0\0\0\0" + b"[" * 8])
def test_bytes_that_are_no_safetensors_are_refused(tmp_path, content):
    (tmp_path / "x.safetensors").write_bytes(content)

    with pytest.raises(TornHeader):
        read_header(reader(tmp_path), b"x.safetensors", len(content))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_torn_specforge_sample_is_found_by_its_headers(tmp_path, packed):
    hidden_states.specforge_dump(tmp_path, lengths=(400, 6), packed=packed)
    suffix = ".ckpt.gz" if packed else ".ckpt"
    whole, torn = (tmp_path / "rows_0-2000" / f"data_{index}{suffix}" for index in (1, 0))
    cut(torn, keep=0.7)

    def look_at(path: Path):
        return inspect(reader(path.parent), path.name.encode(), path.stat().st_size)

    assert (look_at(whole).tokens, look_at(whole).problems) == (6, ())
    assert look_at(torn).tokens is None
    assert len(look_at(torn).problems) == 1


def test_a_lock_beside_a_sample_says_that_it_is_still_being_written(tmp_path):
    hidden_states.speculators_dump(tmp_path / "hs")
    (tmp_path / "hs" / "hs_2.safetensors.lock").touch()

    found = look(tmp_path)

    assert found.sightings["hs"].unfinished
    assert found.strays == ("hs/hs_2.safetensors.lock",)


def test_a_hostile_pickle_is_never_executed(tmp_path):
    trace = tmp_path / "trace"
    (tmp_path / "tree").mkdir()
    with zipfile.ZipFile(tmp_path / "tree" / "evil.pt", "w") as archive:
        archive.writestr("evil/data.pkl", pickle.dumps({"t2d": Detonator(trace), "d2t": 1}, protocol=2))
    vocab_maps.one_torch_file(tmp_path / "tree")
    with zipfile.ZipFile(tmp_path / "tree" / "vocab_mapping.pt", "w") as archive:
        archive.writestr("v/data.pkl", pickle.dumps(Detonator(trace), protocol=4))
    (tmp_path / "tree" / "t2d.pt").write_bytes(pickle.dumps(Detonator(trace)))

    found = look(tmp_path / "tree")

    assert not trace.exists()
    assert found.sightings["evil.pt"].kind is ArtifactKind.OTHER
    assert found.sightings["vocab_mapping.pt"].problems[0].startswith("not plain tensors")


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_calls_anything_is_not_described(tmp_path, protocol):
    with pytest.raises(NotPlainTensors):
        describe(pickle.dumps([Detonator(tmp_path / "trace")], protocol=protocol))

    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("content", [b"", b".", b"\x80\x02", b"cos\nsystem\n.", b"\x80\x02}q\x00(u", b"\x80\x02h\x05."])
def test_a_broken_pickle_is_not_described(content):
    with pytest.raises(NotPlainTensors):
        describe(content)


def test_a_map_whose_halves_disagree_is_a_problem(tmp_path):
    vocab_maps.two_torch_files(tmp_path / "map")
    t2d = torch.zeros(vocab_maps.TARGET, dtype=torch.bool)
    t2d[:6] = True
    torch.save(t2d, tmp_path / "map" / "t2d.pt")

    assert look(tmp_path).sightings["map"].problems == ("t2d and d2t name different tokens",)


def test_a_map_of_the_wrong_types_is_a_problem(tmp_path):
    vocab_maps.two_torch_files(tmp_path / "map")
    torch.save(torch.arange(vocab_maps.TARGET), tmp_path / "map" / "t2d.pt")

    (problem,) = look(tmp_path).sightings["map"].problems

    assert "t2d is int64" in problem


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst", "a.jsonl.gz"])
def test_a_corpus_cut_off_is_a_problem_and_its_last_record_does_not_count(tmp_path, name):
    corpora.json_lines(tmp_path / name, [{"text": f"{index:0200d}"} for index in range(3000)])
    cut(tmp_path / name, keep=0.9985)

    sighting = look(tmp_path).sightings[name]

    assert len(sighting.problems) == 1
    assert sighting.records is not None
    assert sighting.records < 3000


def test_a_parquet_file_cut_off_is_a_problem_and_its_kind_is_not_guessed(tmp_path):
    corpora.parquet(tmp_path / "a.parquet", corpora.conversations(50))
    cut(tmp_path / "a.parquet", keep=0.9)

    sighting = look(tmp_path).sightings["a.parquet"]

    assert (sighting.kind, sighting.records) == (ArtifactKind.OTHER, None)
    assert "footer" in sighting.problems[0]


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_the_footer_agrees_with_the_library_that_wrote_it(tmp_path, rows):
    import pyarrow
    import pyarrow.parquet

    records = [{"text": "x", "nested": {"a": [1, 2], "b": {"c": 1.5}}, "when": None, "flag": True}] * rows
    schema = pyarrow.Table.from_pylist(
        [{"text": "x", "nested": {"a": [1], "b": {"c": 1.5}}, "when": "y", "flag": True}]
    ).schema
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records, schema=schema), path)

    footer = read_footer(reader(tmp_path), b"a.parquet", path.stat().st_size)

    library = pyarrow.parquet.ParquetFile(path)
    with library:
        assert footer.rows == library.metadata.num_rows
        assert footer.columns == tuple(library.schema_arrow.names)


def test_a_damaged_footer_is_refused_whatever_its_bytes(tmp_path):
    path = corpora.parquet(tmp_path / "a.parquet", corpora.conversations(5))
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    for position in range(len(content) - 8 - length, len(content) - 8):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)

        try:
            footer = read_footer(reader(tmp_path), b"a.parquet", len(damaged))
        except TornFooter:
            continue

        assert footer.rows >= 0


def test_a_gzip_bomb_in_a_sample_is_not_unpacked(tmp_path):
    rows = tmp_path / "dump" / "rows_0-2000"
    rows.mkdir(parents=True)
    (rows / "data_0.ckpt.gz").write_bytes(gzip.compress(b"\0" * 200_000_000, 9))

    contents = inspect(reader(rows), b"data_0.ckpt.gz", (rows / "data_0.ckpt.gz").stat().st_size)

    assert contents.problems == ("its first bytes are no torch archive",)
