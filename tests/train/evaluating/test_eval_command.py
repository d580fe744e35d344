"""`train eval` on a tiny random target: what it measures, records and refuses."""

import json
from pathlib import Path

import pytest
import torch

from artifactctl.domain.errors import ArtifactctlError, CheckFailed, Refused, UsageError
from tests.train.catalogued import Catalogued, catalogued
from tests.train.evaluating.targets import drafts_of, write_llama
from tests.train.exporting.counting import counting_draft, counting_target
from train.draft import DraftModel
from train.exporting.served import served_config
from train.weights import served_tensors

TOKENS = ("--tokens", "12", "--chain", "3")


@pytest.fixture
def place(tmp_path: Path) -> Catalogued:
    """A catalog with a checkpoint in it."""
    return catalogued(tmp_path)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Prompts, one of them twice."""
    lines = [{"prompt": "why?"}, {"messages": [{"role": "user", "content": "what is a shard"}]}, {"prompt": "why?"}]
    file = tmp_path / "prompts.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def error(place: Catalogued, *words: str | Path) -> ArtifactctlError:
    raised = place.train(*words).exception
    assert isinstance(raised, ArtifactctlError), raised
    assert raised.remedy
    return raised


def test_a_checkpoint_is_measured_and_what_was_measured_is_in_the_catalog(
    place: Catalogued, llama_folder: Path, asked: Path
) -> None:
    place.checkpoint(drafts_of(llama_folder))

    found = place.answer("eval", "--draft", "checkpoint", "--target", llama_folder, "--prompts", asked, *TOKENS)

    assert found["schema"] == "artifactctl.train_eval/1"
    assert (found["name"], found["lossless"], found["differences"]) == ("checkpoint", True, [])
    assert (found["prompts"], found["chain"], found["computed_in"]) == (2, 3, "float32")
    assert 1 <= found["acceptance_length"] <= 4
    assert found["baseline_acceptance_length"] == max(found["baselines"].values())
    assert len(found["acceptance_by_position"]) == 3
    metrics = place.command("show", "checkpoint")["metrics"]
    assert metrics["eval/acceptance_len"] == found["acceptance_length"]
    assert metrics["eval/baseline_acceptance_len"] == found["baseline_acceptance_length"]
    assert metrics["eval/lossless"] == 1


def test_an_untrained_draft_is_as_good_as_the_untrained_baseline(
    place: Catalogued, llama_folder: Path, asked: Path
) -> None:
    place.checkpoint(drafts_of(llama_folder, seed=0))
    found = place.answer("eval", "--draft", "checkpoint", "--target", llama_folder, "--prompts", asked, *TOKENS)
    assert found["baselines"]["untrained"] == pytest.approx(found["acceptance_length"], abs=0.2)


def test_sampled_answers_are_measured_beside_the_greedy_ones(
    place: Catalogued, llama_folder: Path, asked: Path
) -> None:
    place.checkpoint(drafts_of(llama_folder))
    words = ("eval", "--draft", "checkpoint", "--target", llama_folder, "--prompts", asked, *TOKENS)
    found = place.answer(*words, "--temperature", "1.5", "--seed", "4")
    assert found["sampled_acceptance_length"] > 1
    assert (
        found["sampled_acceptance_length"]
        == place.answer(*words, "--temperature", "1.5", "--seed", "4")["sampled_acceptance_length"]
    )
    assert place.answer(*words)["sampled_acceptance_length"] is None


def test_a_folder_that_nobody_catalogued_is_measured_too(
    place: Catalogued, llama_folder: Path, asked: Path, tmp_path: Path
) -> None:
    folder = served(tmp_path / "served", drafts_of(llama_folder))
    found = place.answer("eval", "--draft", folder, "--target", llama_folder, "--prompts", asked, *TOKENS)
    assert (found["name"], found["lossless"], found["path"]) == (None, True, str(folder))


def test_a_draft_that_is_right_in_its_first_proposal_alone_gives_two_tokens_a_pass(
    place: Catalogued, asked: Path, tmp_path: Path, tiny_folder: Path
) -> None:
    target = counting_target(tmp_path / "target", tiny_folder)
    draft = counting_draft(tmp_path / "draft", target)

    found = place.answer("eval", "--draft", draft, "--target", target, "--prompts", asked, *TOKENS)

    assert found["lossless"]
    assert found["acceptance_length"] == 2
    assert found["acceptance_by_position"] == [1, 0, None]
    assert found["baseline_acceptance_length"] < 1.5


def test_a_draft_of_another_target_is_refused(
    place: Catalogued, llama_folder: Path, asked: Path, tmp_path: Path, tiny_folder: Path
) -> None:
    other = write_llama(tmp_path / "other", tiny_folder, hidden=16)
    place.checkpoint(drafts_of(other))
    raised = error(place, "eval", "--draft", "checkpoint", "--target", llama_folder, "--prompts", asked)
    assert isinstance(raised, Refused)
    assert "16" in raised.message
    assert "32" in raised.message


def test_an_export_that_misses_a_tensor_is_not_measured(
    place: Catalogued, llama_folder: Path, asked: Path, tmp_path: Path
) -> None:
    model = drafts_of(llama_folder)
    state = dict(model.state_dict())
    del state["midlayer.hidden_norm.weight"]
    folder = served(tmp_path / "served", model, state)
    raised = error(place, "eval", "--draft", folder, "--target", llama_folder, "--prompts", asked)
    assert isinstance(raised, CheckFailed)
    assert "hidden_norm" in raised.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no prompts"),
        ('{"prompt": ""}', "prompts.jsonl:1"),
        ('{"prompt": "yes"}\n{"prompt": 7}', "1 of 2 prompts"),
        (json.dumps({"prompt": "a" * 600}), "tokens"),
    ],
    ids=["none", "asks nothing", "unreadable", "too long"],
)
def test_prompts_that_cannot_be_asked_are_an_error(
    place: Catalogued, llama_folder: Path, tmp_path: Path, content: str, said: str
) -> None:
    place.checkpoint(drafts_of(llama_folder))
    file = tmp_path / "prompts.jsonl"
    file.write_text(content)
    raised = error(place, "eval", "--draft", "checkpoint", "--target", llama_folder, "--prompts", file)
    assert isinstance(raised, UsageError)
    assert said in raised.message


def test_a_tokenizer_of_more_tokens_than_the_target_has_is_refused(
    place: Catalogued, llama_folder: Path, asked: Path, tmp_path: Path, tiny_folder: Path
) -> None:
    target = counting_target(tmp_path / "target", tiny_folder, tokens=256)
    place.checkpoint(drafts_of(llama_folder))
    raised = error(place, "eval", "--draft", "checkpoint", "--target", target, "--prompts", asked)
    assert isinstance(raised, Refused)
    assert "has token 257, and the target only 256" in raised.message


def test_what_is_no_draft_is_said(place: Catalogued, llama_folder: Path, asked: Path, tmp_path: Path) -> None:
    place.checkpoint(drafts_of(llama_folder))
    words = ("--target", llama_folder, "--prompts", asked)
    assert "checkpoint-map is a vocab_map" in error(place, "eval", "--draft", "checkpoint-map", *words).message
    assert "holds no draft" in error(place, "eval", "--draft", tmp_path, *words).message


def served(folder: Path, model: DraftModel, state: dict[str, torch.Tensor] | None = None) -> Path:
    from safetensors.torch import save_file

    folder.mkdir()
    save_file(served_tensors(model.state_dict() if state is None else state), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(served_config(model.config, layer_ids=(1, 3, 4))))
    return folder
