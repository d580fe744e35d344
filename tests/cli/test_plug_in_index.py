"""The quick look at entry points sees what importlib.metadata sees."""

import sys
from importlib.metadata import entry_points

import pytest

from artifactctl.cli.plug_in_index import offered_commands

SECTION = "[console_scripts]\nother = a:b\n\n[artifactctl.commands]\n# a remark\nvisitor = c:d\nsecond=e:f [extra]\n"


@pytest.mark.parametrize(
    "folder", ["some_visitor-1.0.dist-info", "some_visitor-1.0-py3.11.egg-info", "some_visitor.egg-info"]
)
def test_the_names_of_one_group_are_found_with_their_package(tmp_path, folder):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "entry_points.txt").write_text(SECTION)

    found = offered_commands("artifactctl.commands", places=[str(tmp_path)])

    assert found == {"visitor": "some-visitor", "second": "some-visitor"}


def test_the_first_place_of_the_search_path_wins(tmp_path):
    for place in ("first", "later"):
        folder = tmp_path / place / f"{place}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_text(SECTION)

    found = offered_commands("artifactctl.commands", places=[str(tmp_path / "first"), str(tmp_path / "later")])

    assert set(found.values()) == {"first"}


def test_places_that_are_no_folders_are_passed_over(tmp_path):
    (tmp_path / "library.zip").write_bytes(b"PK")

    assert offered_commands("g", places=[str(tmp_path / "library.zip"), str(tmp_path / "nowhere")]) == {}


@pytest.mark.parametrize("group", ["console_scripts", "pytest11"])
def test_it_finds_what_importlib_finds_in_this_environment(group):
    known = {entry.name for entry in entry_points(group=group)}

    assert known
    assert set(offered_commands(group, places=sys.path)) == known
