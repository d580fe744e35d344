"""How the story is told: commands as a person types them, and a surprise that ends it."""

import os
import signal

import pytest

from artifactctl.demonstration.interruption import stops_once
from artifactctl.demonstration.reckoning import Reckoning
from artifactctl.demonstration.storyteller import StoryStopped, Storyteller, command_lines, story_environment

GIB = 1024**3


@pytest.fixture
def told():
    return []


@pytest.fixture
def teller(told, tmp_path):
    return Storyteller(write=told.append, emphasise=lambda text: text, encoding="utf-8", folder=tmp_path)


def test_a_long_command_goes_on_in_the_next_line_and_keeps_options_with_their_values():
    lines = command_lines(["artifactctl", "register", "x" * 60, "--kind", "merged_corpus", "--input", "data/A1.jsonl"])

    assert lines == [f"$ artifactctl register {'x' * 60} \\", "      --kind merged_corpus --input data/A1.jsonl"]


def test_a_word_with_blanks_is_quoted_as_a_shell_wants_it():
    assert command_lines(["kill", "a b"], background=True) == ["$ kill 'a b' &"]


def test_a_command_is_followed_by_what_it_printed(teller, told):
    code = teller.run("seq", "2")

    assert code == 0
    assert told == ["  $ seq 2", "  1", "  2", ""]


def test_a_code_that_the_story_does_not_foresee_ends_it_after_showing_what_was_said(teller, told):
    with pytest.raises(StoryStopped, match="ended with code 2"):
        teller.run("artifactctl", "no-such-command")

    assert any("no-such-command" in line for line in told[1:])


def test_the_commands_see_no_configuration_and_no_catalog_of_the_person(tmp_path):
    inherited = {"HOME": "/home/ada", "ARTIFACTCTL_CATALOG": "/real.db", "ARTIFACTCTL_DEBUG": "1", "LC_ALL": "de_DE"}

    environment = story_environment(inherited, folder=tmp_path, encoding="utf-8")

    assert environment["ARTIFACTCTL_CATALOG"] == str(tmp_path / "catalog.db")
    assert "ARTIFACTCTL_DEBUG" not in environment
    assert environment["HOME"] == "/home/ada"


def test_the_one_that_rounding_makes_is_explained_and_no_byte_is_missing():
    removed = int(923.96 * GIB)
    before = int(1020.97 * GIB)

    lines = Reckoning(used_before_bytes=before, removed_bytes=removed, used_now_bytes=before - removed).lines()

    assert lines[0] == "By hand, 1021G less 924G is 97G, and df says 98G. To the byte:"
    assert lines[-1].endswith("No byte is missing.")


def test_a_residue_is_named_with_its_size_and_direction():
    lines = Reckoning(used_before_bytes=100 * GIB, removed_bytes=60 * GIB, used_now_bytes=40 * GIB - 4096).lines()

    assert lines[0].startswith("By hand, 100G less 60G is 40G, and df says 40G. It agrees")
    assert "4.00 KiB more came free" in lines[-1]


def test_a_second_interruption_does_not_disturb_the_cleaning_up_after_the_first():
    cleaned = []

    def interrupted_again_while_cleaning_up():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGHUP)
            cleaned.append(True)

    with stops_once(), pytest.raises(KeyboardInterrupt):
        interrupted_again_while_cleaning_up()

    assert cleaned == [True]
