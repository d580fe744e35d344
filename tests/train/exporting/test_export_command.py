"""`train export`: what is written, registered and refused."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from artifactctl.domain.errors import ArtifactctlError, CheckFailed, Refused, UsageError
from tests.train.catalogued import Catalogued, catalogued
from tests.train.tiny import target_folder, tiny_draft
from train.exporting.checking import check_served
from train.weights import served_tensors

pytestmark = pytest.mark.usefixtures("target")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The tiny target."""
    return target_folder(tmp_path / "target")


@pytest.fixture
def place(tmp_path: Path) -> Catalogued:
    """A catalog with a checkpoint in it."""
    made = catalogued(tmp_path)
    made.checkpoint(tiny_draft())
    return made


def error(place: Catalogued, *words: str | Path) -> ArtifactctlError:
    raised = place.train("export", *words).exception
    assert isinstance(raised, ArtifactctlError), raised
    assert raised.remedy
    return raised


def test_a_checkpoint_becomes_a_registered_draft_with_its_lineage(place: Catalogued, target: Path) -> None:
    out = place.root / "draft"

    found = place.answer("export", "--checkpoint", "checkpoint", "--out", out, "--target", target, "--name", "draft")

    assert found["schema"] == "artifactctl.train_export/1"
    assert (found["layers"], found["layer_ids"], found["draft_vocab_size"]) == ([2, 4, 5], [1, 3, 4], 40)
    assert sorted(each.name for each in out.iterdir()) == ["config.json", "manifest.json", "model.safetensors"]
    assert check_served(out)["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [1, 3, 4]
    expected = served_tensors(tiny_draft().state_dict())
    written = load_file(out / "model.safetensors")
    assert written.keys() == expected.keys()
    assert all(torch.equal(written[name], tensor) for name, tensor in expected.items())
    shown = place.command("show", "draft")
    assert shown["kind"] == "draft_model"
    parents = {(each["parent"], each["role"]) for each in place.command("lineage", "draft", "--up")["edges"]}
    assert {("checkpoint", "extracted_from"), ("checkpoint-map", "mapped_with")} <= parents
    assert place.command("verify", "draft", "--level", "headers")["results"][0]["ok"]
    assert not place.command("reservation", "ls")["reservations"]


def test_a_run_that_was_killed_before_it_registered_is_brought_to_its_end(place: Catalogued, target: Path) -> None:
    words = ("export", "--checkpoint", "checkpoint", "--target", target)
    elsewhere, out = place.root / "elsewhere", place.root / "draft"
    place.answer(*words, "--out", elsewhere)
    out.mkdir()
    for file in elsewhere.iterdir():
        (out / file.name).write_bytes(file.read_bytes())

    assert place.answer(*words, "--out", out)["name"] == "vol/draft"
    assert place.answer(*words, "--out", out)["name"] == "vol/draft"


def test_what_lies_at_the_place_is_not_written_over(place: Catalogued, target: Path) -> None:
    out = place.root / "draft"
    out.mkdir()
    (out / "mine").write_text("mine")
    raised = error(place, "--checkpoint", "checkpoint", "--out", out, "--target", target)
    assert "is there already" in raised.message
    assert (out / "mine").read_text() == "mine"


def test_a_checkpoint_with_a_missing_tensor_is_not_exported(place: Catalogued, target: Path) -> None:
    weights = place.root / "checkpoint" / "model.safetensors"
    tensors = load_file(weights)
    del tensors["midlayer.mlp.up_proj.weight"]
    save_file(tensors, weights)
    raised = error(place, "--checkpoint", "checkpoint", "--out", place.root / "draft", "--target", target)
    assert isinstance(raised, CheckFailed)
    assert "midlayer.mlp.up_proj.weight is missing" in raised.message
    assert not (place.root / "draft").exists()


def test_a_checkpoint_with_another_map_than_the_catalogued_is_not_exported(place: Catalogued, target: Path) -> None:
    weights = place.root / "checkpoint" / "model.safetensors"
    tensors = load_file(weights)
    used = torch.arange(40) + 100
    shown = torch.zeros(300, dtype=torch.bool)
    shown[used] = True
    save_file({**tensors, "t2d": shown, "d2t": used - torch.arange(40)}, weights)
    raised = error(place, "--checkpoint", "checkpoint", "--out", place.root / "draft", "--target", target)
    assert isinstance(raised, CheckFailed)
    assert "checkpoint-map" in raised.message


def test_another_target_is_refused(place: Catalogued, target: Path) -> None:
    config = target / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"vocab_size": 301}))
    raised = error(place, "--checkpoint", "checkpoint", "--out", place.root / "draft", "--target", target)
    assert isinstance(raised, Refused)
    assert "301" in raised.message


def test_only_checkpoints_are_exported(place: Catalogued, target: Path) -> None:
    raised = error(place, "--checkpoint", "checkpoint-map", "--out", place.root / "draft", "--target", target)
    assert isinstance(raised, UsageError)


def test_a_folder_outside_every_root_is_refused(place: Catalogued, target: Path, tmp_path: Path) -> None:
    raised = error(place, "--checkpoint", "checkpoint", "--out", tmp_path / "outside", "--target", target)
    assert not (tmp_path / "outside").exists()
    assert "root" in raised.message


def test_a_folder_is_checked_without_writing(place: Catalogued, target: Path) -> None:
    out = place.root / "draft"
    place.answer("export", "--checkpoint", "checkpoint", "--out", out, "--target", target)
    assert place.answer("export", "--check", out)["layer_ids"] == [1, 3, 4]
    (out / "config.json").write_text("{}")
    assert isinstance(error(place, "--check", out), CheckFailed)
