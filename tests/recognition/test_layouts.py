"""Every layout of the field is recognised from real files, and only its own files are its members."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.sightings import Layout
from tests.artifacts import checkpoints, corpora, hidden_states, vocab_maps
from tests.recognition.walking import look

MAKERS: dict[str, tuple[Callable[[Path], object], ArtifactKind, Layout]] = {
    "safetensors": (hidden_states.safetensors_shards, ArtifactKind.HIDDEN_STATES, Layout.SAFETENSORS),
    "specforge": (hidden_states.specforge_dump, ArtifactKind.HIDDEN_STATES, Layout.SPECFORGE_DUMP),
    "speculators": (hidden_states.speculators_dump, ArtifactKind.HIDDEN_STATES, Layout.SPECULATORS_DUMP),
    "torch vocab map": (vocab_maps.two_torch_files, ArtifactKind.VOCAB_MAP, Layout.VOCAB_MAP),
    "numpy vocab map": (vocab_maps.two_numpy_files, ArtifactKind.VOCAB_MAP, Layout.VOCAB_MAP),
    "specforge vocab map": (vocab_maps.one_torch_file, ArtifactKind.VOCAB_MAP, Layout.VOCAB_MAP),
    "model": (checkpoints.model_folder, ArtifactKind.MODEL, Layout.HUGGING_FACE),
}


@pytest.mark.parametrize(("make", "kind", "layout"), MAKERS.values(), ids=MAKERS)
def test_a_folder_is_recognised_by_its_layout(tmp_path, make, kind, layout):
    make(tmp_path / "thing")

    found = look(tmp_path)

    assert (found.sightings["thing"].kind, found.sightings["thing"].layout) == (kind, layout)
    assert found.sightings["thing"].problems == ()
    assert found.strays == ()


def test_the_tokens_of_safetensors_are_the_summed_rows(tmp_path):
    hidden_states.safetensors_shards(tmp_path / "hs", rows=(5, 7, 3))

    assert look(tmp_path).sightings["hs"].tokens == 15


def test_the_tokens_of_speculators_are_the_summed_lengths(tmp_path):
    hidden_states.speculators_dump(tmp_path / "hs", lengths=(4, 6, 9))

    assert look(tmp_path).sightings["hs"].tokens == 19


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_specforge_samples_are_counted_and_their_tokens_are_said_to_be_unknown(tmp_path, packed):
    hidden_states.specforge_dump(tmp_path / "dump", lengths=(4, 6, 2), group=2, packed=packed)

    sighting = look(tmp_path).sightings["dump"]

    assert (sighting.records, sighting.tokens) == (3, None)
    assert "verify" in dict(sighting.details)["tokens"]


def test_weights_without_a_config_are_no_hidden_states(tmp_path):
    (checkpoints.model_folder(tmp_path / "weights") / "config.json").unlink()

    sighting = look(tmp_path).sightings["weights"]

    assert (sighting.kind, sighting.tokens) == (ArtifactKind.OTHER, None)


def test_the_map_inside_a_dump_is_an_artifact_of_its_own(tmp_path):
    hidden_states.specforge_dump(tmp_path / "dump")
    vocab_maps.one_torch_file(tmp_path / "dump")

    found = look(tmp_path)

    assert found.sightings["dump/vocab_mapping.pt"].kind is ArtifactKind.VOCAB_MAP
    assert "vocab_mapping.pt" not in found.members["dump"]


def test_the_map_inside_a_draft_is_part_of_the_draft(tmp_path):
    checkpoints.model_folder(tmp_path / "draft", checkpoints.EAGLE3_CONFIG)
    vocab_maps.two_torch_files(tmp_path / "draft")

    found = look(tmp_path)

    assert found.sightings.keys() == {"draft"}
    assert {"t2d.pt", "d2t.pt"} <= set(found.members["draft"])


def test_a_map_says_its_sizes_and_half_a_map_says_which_half(tmp_path):
    vocab_maps.two_torch_files(tmp_path / "map")
    vocab_maps.two_torch_files(tmp_path / "mixed")
    (tmp_path / "mixed" / "notes.txt").write_text("mine")

    found = look(tmp_path)

    assert dict(found.sightings["map"].details) == {"draft_vocab": "6", "target_vocab": "40"}
    assert dict(found.sightings["mixed/t2d.pt"].details) == {"half": "t2d"}
    assert found.strays == ("mixed/notes.txt",)


def test_a_draft_is_told_from_a_model_by_its_config(tmp_path):
    checkpoints.model_folder(tmp_path / "draft", checkpoints.EAGLE3_CONFIG)
    checkpoints.model_folder(tmp_path / "other", {"architectures": ["X"], "draft_vocab_size": 32000})

    found = look(tmp_path)

    assert {s.kind for s in found.sightings.values()} == {ArtifactKind.DRAFT_MODEL}


def test_a_hub_cache_entry_is_one_unit_with_its_blobs_and_links(tmp_path):
    checkpoints.hub_model(tmp_path / "hub", repo="org/tiny", revision="a1b2c3")

    found = look(tmp_path)

    assert found.sightings.keys() == {"hub/models--org--tiny"}
    assert dict(found.sightings["hub/models--org--tiny"].details) == {"repo": "org/tiny", "revision": "a1b2c3"}
    assert "snapshots/a1b2c3/config.json" in found.members["hub/models--org--tiny"]


def test_torch_files_of_unknown_content_are_named_but_not_read(tmp_path):
    import torch

    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")

    sighting = look(tmp_path).sightings["module.pt"]

    assert (sighting.kind, sighting.layout) == (ArtifactKind.OTHER, Layout.TORCH_FILE)


def test_two_hundred_torch_files_are_one_artifact(tmp_path):
    import torch

    (tmp_path / "many").mkdir()
    for index in range(200):
        torch.save(torch.ones(1), tmp_path / "many" / f"x{index}.pt")

    found = look(tmp_path)

    assert found.sightings.keys() == {"many"}
    assert len(found.members["many"]) == 200


def test_an_unknown_file_is_nobodys(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / "numbers.jsonl").write_text('{"loss": 0.5, "step": 3}\n')
    (tmp_path / "torn.pt").write_bytes(b"not a torch file")

    found = look(tmp_path)

    assert found.sightings == {}
    assert found.strays == ("numbers.jsonl", "thesis.tex", "torn.pt")


@pytest.mark.parametrize("name", ["notes.txt", "train.py", "README.md", "run.log", "answers.csv"])
def test_a_persons_file_beside_shards_is_a_stray_and_never_a_member(tmp_path, name):
    hidden_states.safetensors_shards(tmp_path / "hs")
    (tmp_path / "hs" / name).write_text("mine")

    found = look(tmp_path)

    assert found.strays == (f"hs/{name}",)
    assert name not in found.members["hs"]


def test_names_that_are_not_utf8_are_recognised_as_bytes(tmp_path):
    hidden_states.safetensors_shards(tmp_path / "plain")
    (tmp_path / "plain").rename(tmp_path / "b\udcff\n")

    assert look(tmp_path).sightings["b\udcff\n"].tokens == 15


def test_json_lines_and_parquet_are_counted_and_told_apart_by_content(tmp_path):
    corpora.json_lines(tmp_path / "a.jsonl", corpora.conversations(9))
    corpora.json_lines(tmp_path / "b.jsonl.zst", corpora.conversations(11))
    corpora.json_lines(tmp_path / "c.jsonl.gz", corpora.tokenised(3))
    corpora.parquet(tmp_path / "d.parquet", corpora.tokenised(100))
    corpora.parquet(tmp_path / "e.parquet", corpora.conversations(23))

    found = look(tmp_path).sightings

    assert {name: (s.kind.value, s.records) for name, s in found.items()} == {
        "a.jsonl": ("response_set", 9),
        "b.jsonl.zst": ("response_set", 11),
        "c.jsonl.gz": ("merged_corpus", 3),
        "d.parquet": ("merged_corpus", 100),
        "e.parquet": ("response_set", 23),
    }


def test_numbered_parts_are_one_corpus(tmp_path):
    for index in range(3):
        corpora.json_lines(tmp_path / "set" / f"part-{index:05d}.jsonl", corpora.conversations(4))

    found = look(tmp_path)

    assert found.sightings.keys() == {"set"}
    assert found.sightings["set"].records == 12


def test_ten_response_sets_in_one_folder_are_ten_artifacts(tmp_path):
    names = ["A1", "A2", *(f"B{index}" for index in range(1, 9))]
    for name in names:
        corpora.json_lines(tmp_path / "responses" / f"{name}.jsonl", corpora.conversations(2))

    assert look(tmp_path).sightings.keys() == {f"responses/{name}.jsonl" for name in names}


def test_blank_lines_and_a_missing_last_newline_do_not_change_the_count(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n\n  \n{"text": "b"}\r\n{"text": "c"}')

    assert look(tmp_path).sightings["a.jsonl"].records == 3
