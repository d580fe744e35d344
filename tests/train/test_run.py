"""A training run from its inputs to its checkpoints, in this process."""

import shutil

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from tests.train.site import SETTINGS, Site, events, losses
from train.checkpoints import MEMBERS, complete_checkpoints
from train.run import TrainingStopped


def test_a_run_writes_checkpoints_that_are_catalogued_with_step_metrics_and_inputs(site: Site) -> None:
    trained = site.train()

    assert trained.written == ("run-step-2", "run-step-4", "run-step-6")
    assert [step for step, _ in complete_checkpoints(site.out)] == [2, 4, 6]
    assert {each.name for each in (site.out / "step-00000006").iterdir()} == set(MEMBERS)
    assert "soft labels" in trained.labels
    shown = site.json("show", "run-step-4")
    assert shown["metrics"]["step"] == 4
    assert shown["metrics"]["loss"] == pytest.approx(events(site.out)[3]["loss"])
    assert {"eval_loss", "eval_accepted", "eval_accuracy_0", "eval_accuracy_2"} <= set(shown["metrics"])
    with site.open() as session:
        artifact = session.artifact("run-step-6")
        assert session.run_in_progress(artifact) is None
    assert [line["step"] for line in events(site.out)] == [1, 2, 3, 4, 5, 6]
    assert SETTINGS["unroll_steps"] == 3
    assert {"loss_0", "loss_2", "accuracy_0", "accuracy_2"} <= set(events(site.out)[0])


def test_a_run_that_is_resumed_makes_the_losses_of_one_that_was_not_stopped(site: Site) -> None:
    whole = site.root / "whole"
    site.train(out=whole)
    asked = iter([False, False, True])

    with pytest.raises(TrainingStopped, match="stopped after 3 of 6 steps"):
        site.train(should_stop=lambda: next(asked, True))
    site.train(resume=True)

    assert losses(site.out) == losses(whole)
    assert [step for step, _ in complete_checkpoints(site.out)] == [2, 3, 4, 6]
    for name in ("optimizer.safetensors", "model.safetensors"):
        assert (site.out / "step-00000006" / name).read_bytes() == (whole / "step-00000006" / name).read_bytes()


def test_a_checkpoint_that_a_killed_run_registered_and_could_not_measure_is_measured(site: Site) -> None:
    site.train(steps=2)
    copied = site.root / "copied"
    copied.mkdir()
    shutil.copytree(site.out / "step-00000002", copied / "step-00000002")
    with site.open() as session:
        session.register(copied / "step-00000002", kind=ArtifactKind.CHECKPOINT, name="copied-step-2")

    site.train(out=copied, steps=2, resume=True)

    shown = site.json("show", "copied-step-2")
    assert shown["metrics"] == site.json("show", "run-step-2")["metrics"]
    assert len(site.json("ls", "--kind", "checkpoint")["artifacts"]) == 2
