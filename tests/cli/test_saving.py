"""A file named with --out: an earlier one of the same sort is replaced, anything else stays as it is."""

import json
import os
import resource
from pathlib import Path

import pytest

from artifactctl.cli.saving import save_stream, save_text
from artifactctl.domain.errors import Refused, UsageError

WRITING = [
    ("report", "--out"),
    ("catalog", "export"),
    ("audit", "export", "--out"),
    ("plan", "extraction", "--tokens", "1M", "--volume", "scratch", "--out"),
]


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
@pytest.mark.parametrize("content", [b"\x10\0\0\0{", b'{"schema": "somebody.else/1"}\n'])
def test_what_another_wrote_is_never_written_over(stocked, tmp_path: Path, words, content) -> None:
    place = tmp_path / "shard-00000.safetensors"
    place.write_bytes(content)

    result = stocked.run(*words, str(place))

    assert result.exit_code == 4, result.output
    assert "stays as it is" in result.stderr
    assert place.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_an_earlier_one_of_the_same_sort_is_replaced(stocked, tmp_path: Path, words) -> None:
    place = tmp_path / "saved"
    first = stocked.run(*words, str(place))
    place.write_bytes(place.read_bytes() + b" ")

    again = stocked.run(*words, str(place))

    assert again.exit_code == first.exit_code, again.output
    assert not place.read_bytes().endswith(b" ")


def test_a_plan_of_one_sort_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    place = tmp_path / "plan.json"
    save_text(bytes(place), json.dumps({"schema": "artifactctl.reclaim-plan/1", "steps": []}, indent=2))

    with pytest.raises(Refused):
        save_text(bytes(place), json.dumps({"schema": "artifactctl.plan/1"}, indent=2))

    assert json.loads(place.read_bytes())["schema"] == "artifactctl.reclaim-plan/1"
    save_text(bytes(place), json.dumps({"schema": "artifactctl.reclaim-plan/1", "steps": [1]}, indent=2))
    assert json.loads(place.read_bytes())["steps"] == [1]


def test_a_web_page_of_somebody_else_stays(tmp_path: Path) -> None:
    place = tmp_path / "index.html"
    place.write_text("<!DOCTYPE html>\n<html><head><title>minutes</title>")

    with pytest.raises(Refused):
        save_stream(bytes(place), ["<!DOCTYPE html>\n<html><head><title>artifactctl report: x</title>"])


def test_the_catalog_in_use_is_not_written_over(stocked, tmp_path: Path) -> None:
    assert stocked.run("catalog", "export", str(stocked.location)).exit_code == 4
    assert stocked.run("ls").exit_code == 0


def a_plan(steps: int) -> str:
    return json.dumps({"schema": "artifactctl.plan/1", "steps": list(range(steps))}, indent=2)


def test_a_failure_half_way_leaves_the_earlier_file(tmp_path: Path) -> None:
    place = tmp_path / "plan.json"
    save_text(bytes(place), a_plan(1))
    before = place.read_bytes()
    hard, soft = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, soft))
    try:
        with pytest.raises(UsageError, match="cannot be written"):
            save_text(bytes(place), a_plan(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, soft))

    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    place = tmp_path / "plan.json"
    save_text(bytes(place), a_plan(1))
    place.chmod(0o640)

    save_text(bytes(place), a_plan(2))

    assert place.stat().st_mode & 0o777 == 0o640


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    place = tmp_path / "plan.json"
    place.symlink_to("kept/plan.json")

    for steps in (1, 2):
        save_text(bytes(place), a_plan(steps))

    assert place.is_symlink()
    assert (tmp_path / "kept" / "plan.json").read_text() == a_plan(2) + "\n"


@pytest.mark.parametrize("save", [save_text, lambda path, text: save_stream(path, [text])], ids=["text", "stream"])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, save) -> None:
    place = tmp_path / "pipe"
    os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)

    save(bytes(place), "some text")

    assert os.read(reader, 100).startswith(b"some text")
    os.close(reader)
    assert place.is_fifo()


def test_a_descriptor_is_written_to(tmp_path: Path) -> None:
    with (tmp_path / "redirected").open("w+") as file:
        save_text(b"/dev/fd/%d" % file.fileno(), "some text")

        assert file.read() == "some text\n"
