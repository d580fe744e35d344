"""Checkpoints are artifacts of their own, ordered by step as a number."""

import json

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.sightings import Layout
from tests.artifacts import checkpoints, hidden_states
from tests.recognition.walking import look


def test_a_checkpoint_inside_a_run_is_an_artifact_of_its_own(tmp_path):
    checkpoints.model_folder(tmp_path / "run", checkpoints.EAGLE3_CONFIG)
    checkpoints.trainer_checkpoint(tmp_path / "run", 900)

    found = look(tmp_path)

    assert found.sightings["run"].kind is ArtifactKind.DRAFT_MODEL
    assert found.sightings["run/checkpoint-900"].kind is ArtifactKind.CHECKPOINT
    assert found.members["run"] == ("config.json", "model.safetensors")


def test_checkpoints_sort_by_step_as_numbers(tmp_path):
    for step in (900, 1000, 10000):
        checkpoints.trainer_checkpoint(tmp_path / "run", step)

    found = look(tmp_path).sightings
    by_step = sorted(found.values(), key=lambda sighting: dict(sighting.metrics)["step"])

    assert [s.relative for s in by_step] == [b"run/checkpoint-900", b"run/checkpoint-1000", b"run/checkpoint-10000"]


def test_the_trainers_state_gives_step_metrics_and_the_best(tmp_path):
    checkpoints.trainer_checkpoint(tmp_path / "run", 900, best=900)
    checkpoints.trainer_checkpoint(tmp_path / "run", 1000, best=900, loss=0.75)

    found = look(tmp_path).sightings

    assert dict(found["run/checkpoint-1000"].metrics) == {
        "step": 1000, "epoch": 1.0, "best_metric": 0.25, "loss": 0.75, "eval_loss": 0.85,
    }  # fmt: skip
    assert dict(found["run/checkpoint-900"].details)["is_best"] == "yes"
    assert "is_best" not in dict(found["run/checkpoint-1000"].details)


def test_a_checkpoint_without_weights_is_recognised_as_incomplete(tmp_path):
    folder = checkpoints.trainer_checkpoint(tmp_path / "run", 900)
    (folder / "model.safetensors").unlink()

    sighting = look(tmp_path).sightings["run/checkpoint-900"]

    assert sighting.kind is ArtifactKind.CHECKPOINT
    assert sighting.problems == ("it holds no weights",)


def test_a_shard_that_the_index_lists_and_nobody_has_is_a_problem(tmp_path):
    folder = checkpoints.model_folder(tmp_path / "model")
    weight_map = {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))

    (problem,) = look(tmp_path).sightings["model"].problems

    assert problem.startswith("model-00002-of-00002.safetensors")


def test_a_state_file_that_is_no_json_is_a_problem(tmp_path):
    folder = checkpoints.trainer_checkpoint(tmp_path / "run", 900)
    (folder / "trainer_state.json").write_text('{"global_step": ')

    sighting = look(tmp_path).sightings["run/checkpoint-900"]

    assert dict(sighting.metrics) == {"step": 900}
    assert sighting.problems == ("trainer_state.json: it cannot be read as JSON",)


def test_a_lightning_checkpoint_tells_epoch_step_and_measurements_by_its_name(tmp_path):
    checkpoints.lightning_checkpoint(tmp_path / "epoch=3-step=1000-val_loss=0.25.ckpt")

    (sighting,) = look(tmp_path).sightings.values()

    assert (sighting.kind, sighting.layout) == (ArtifactKind.CHECKPOINT, Layout.LIGHTNING)
    assert dict(sighting.metrics) == {"epoch": 3, "step": 1000, "val_loss": 0.25}


def test_deepspeed_names_the_step_to_resume_from(tmp_path):
    checkpoints.deepspeed_checkpoint(tmp_path / "run", 5)
    checkpoints.deepspeed_checkpoint(tmp_path / "run", 10, latest=True)

    found = look(tmp_path).sightings

    assert {name: dict(s.details).get("is_latest") for name, s in found.items()} == {
        "run/global_step5": None,
        "run/global_step10": "yes",
    }


def test_deepspeed_state_inside_a_trainers_checkpoint_is_part_of_it(tmp_path):
    folder = checkpoints.trainer_checkpoint(tmp_path / "run", 900)
    checkpoints.deepspeed_checkpoint(folder, 900, latest=True)

    found = look(tmp_path)

    assert found.sightings.keys() == {"run/checkpoint-900"}
    assert "global_step900/mp_rank_00_model_states.pt" in found.members["run/checkpoint-900"]
    assert "latest" in found.members["run/checkpoint-900"]


def test_notes_in_a_run_belong_to_nobody(tmp_path):
    checkpoints.trainer_checkpoint(tmp_path / "run", 10)
    checkpoints.trainer_checkpoint(tmp_path / "run", 1000)
    (tmp_path / "run" / "notes.txt").write_text("old run")
    (tmp_path / "run" / "checkpoint-10" / "notes.txt").write_text("keep")

    found = look(tmp_path)

    assert set(found.strays) == {"run/notes.txt", "run/checkpoint-10/notes.txt"}


def test_a_root_that_is_itself_a_checkpoint_is_reported_and_not_taken_apart(tmp_path):
    folder = checkpoints.trainer_checkpoint(tmp_path, 900)

    found = look(folder)

    assert found.notes == ("the root itself is a checkpoint (hugging face folder)",)
    assert "model.safetensors" not in found.sightings


@pytest.mark.parametrize("make", [hidden_states.safetensors_shards, hidden_states.specforge_dump])
def test_a_root_that_is_itself_a_dump_offers_its_parts(tmp_path, make):
    make(tmp_path)

    found = look(tmp_path)

    assert {sighting.kind for sighting in found.sightings.values()} == {ArtifactKind.HIDDEN_STATES}
    assert "" not in found.sightings
