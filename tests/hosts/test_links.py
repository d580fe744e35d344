"""Links that lead to a target from elsewhere."""

import os
from pathlib import Path

import pytest

from artifactctl.hosts.local import LocalHost


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    for name in ("checkpoint-500", "checkpoint-1000"):
        (tmp_path / "run" / name).mkdir(parents=True)
        (tmp_path / "run" / name / "model.safetensors").touch()
    return tmp_path / "run"


def links_to(target: Path, *roots: Path) -> list[bytes]:
    found, problems = LocalHost().referrers([os.fsencode(root) for root in roots], [os.fsencode(target)])
    assert problems == ()
    assert {item.target for item in found} <= {os.fsencode(target)}
    return [os.path.relpath(item.link, os.fsencode(roots[0])) for item in found]


@pytest.mark.parametrize(
    "text",
    [
        "checkpoint-500",
        "./checkpoint-500/",
        "../run/checkpoint-500/model.safetensors",
        "checkpoint-1000/../checkpoint-500",
    ],
    ids=["plain", "with dots", "into it", "by a detour"],
)
def test_a_sibling_link_is_found(run_folder: Path, text: str) -> None:
    (run_folder / "latest").symlink_to(text)

    assert links_to(run_folder / "checkpoint-500", run_folder.parent) == [b"run/latest"]
    assert links_to(run_folder / "checkpoint-1000", run_folder.parent) == []


def test_an_absolute_link_and_a_chain_of_links_are_found(run_folder: Path) -> None:
    (run_folder / "best").symlink_to(run_folder / "checkpoint-500")
    (run_folder / "latest").symlink_to("best")

    assert links_to(run_folder / "checkpoint-500", run_folder) == [b"best", b"latest"]


def test_a_link_through_a_linked_folder_is_found(run_folder: Path) -> None:
    (run_folder.parent / "alias").symlink_to("run")
    (run_folder.parent / "last").symlink_to("alias/checkpoint-500")

    assert links_to(run_folder / "checkpoint-500", run_folder.parent) == [b"last"]


def test_links_inside_of_the_target_do_not_count(run_folder: Path) -> None:
    (run_folder / "checkpoint-500" / "own").symlink_to("model.safetensors")
    (run_folder / "checkpoint-500" / "self").symlink_to(run_folder / "checkpoint-500")

    assert links_to(run_folder / "checkpoint-500", run_folder) == []


def test_a_link_from_one_artifact_into_another_counts(run_folder: Path) -> None:
    (run_folder / "checkpoint-1000" / "base").symlink_to("../checkpoint-500/model.safetensors")

    assert links_to(run_folder / "checkpoint-500", run_folder) == [b"checkpoint-1000/base"]


def test_a_snapshot_link_counts_for_a_blob_and_not_for_the_whole_model(tmp_path: Path) -> None:
    model = tmp_path / "hub" / "models--org--name"
    (model / "blobs").mkdir(parents=True)
    (model / "snapshots" / "abc").mkdir(parents=True)
    (model / "blobs" / "sha").touch()
    (model / "snapshots" / "abc" / "model.safetensors").symlink_to("../../blobs/sha")

    assert links_to(model, tmp_path) == []
    assert links_to(model / "blobs" / "sha", model) == [b"snapshots/abc/model.safetensors"]


def test_a_link_to_a_name_that_merely_begins_alike_is_none(run_folder: Path) -> None:
    (run_folder / "latest").symlink_to("checkpoint-1000")

    assert links_to(run_folder / "checkpoint-100", run_folder) == []


def test_a_dangling_link_and_a_loop_of_links_stop_nobody(run_folder: Path) -> None:
    (run_folder / "loop").symlink_to("loop")
    (run_folder / "gone").symlink_to("checkpoint-0")
    (run_folder / "latest").symlink_to("checkpoint-500")

    assert links_to(run_folder / "checkpoint-500", run_folder) == [b"latest"]


def test_a_target_that_is_a_link_itself_is_referred_to_by_its_own_name(run_folder: Path) -> None:
    (run_folder / "latest").symlink_to("checkpoint-500")
    (run_folder / "current").symlink_to("latest")

    assert links_to(run_folder / "latest", run_folder) == [b"current"]


def test_a_root_that_is_gone_is_a_problem(tmp_path: Path) -> None:
    _, problems = LocalHost().referrers([os.fsencode(tmp_path / "gone")], [b"/x"])

    assert len(problems) == 1
    assert "gone" in problems[0]


def test_overlapping_roots_report_a_link_once(run_folder: Path) -> None:
    (run_folder / "latest").symlink_to("checkpoint-500")

    assert links_to(run_folder / "checkpoint-500", run_folder.parent, run_folder) == [b"run/latest"]
