"""A file named with --out: an earlier one of the same sort is replaced, anything else stays as it is."""

import json
from pathlib import Path

import pytest

from artifactctl.cli.saving import save_stream, save_text
from artifactctl.domain.errors import Refused

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
