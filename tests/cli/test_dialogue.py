"""Questions are asked on a real terminal, and never where there is none."""

import sys
from pathlib import Path

import pexpect
import pytest

from artifactctl.cli.dialogue import ConfirmationNeeded, Dialogue, ReasonNeeded

ASKING = """
import sys
from artifactctl.cli.dialogue import Dialogue
from artifactctl.cli.failures import run_to_exit_code

dialogue = Dialogue(yes="--yes" in sys.argv, reason=None)
questions = {
    "confirm": lambda: dialogue.confirm("Create the catalog?"),
    "typed": lambda: dialogue.typed("Nobody can rebuild this.", "924 GiB"),
    "waiver": lambda: dialogue.typed("Nobody can rebuild this.", "924 GiB", yes_counts=False),
    "reason": lambda: print("because", dialogue.reason("Why should it go?")),
}
sys.exit(run_to_exit_code(questions[sys.argv[1]], arguments=()))
"""


@pytest.fixture
def ask(environment):
    terminals = []

    def start(*words):
        terminal = pexpect.spawn(sys.executable, ["-c", ASKING, *words], env=environment, encoding="utf-8", timeout=20)
        terminals.append(terminal)
        return terminal

    yield start
    for terminal in terminals:
        terminal.close(force=True)


def exit_code(terminal):
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal.exitstatus


@pytest.mark.parametrize(
    ("answer", "code"), [("y", 0), ("YES", 0), ("n", 4), ("", 4), ("yess", 4)], ids=["y", "yes", "n", "enter", "typo"]
)
def test_only_yes_confirms(ask, answer, code):
    terminal = ask("confirm")

    terminal.expect_exact("Create the catalog? [y/N] ")
    terminal.sendline(answer)

    assert exit_code(terminal) == code


@pytest.mark.parametrize(("answer", "code"), [("924 gib", 0), ("923 GiB", 4), ("y", 4)])
def test_a_typed_confirmation_wants_the_very_word(ask, answer, code):
    terminal = ask("typed")

    terminal.expect_exact("Type 924 GiB to go on: ")
    terminal.sendline(answer)

    assert exit_code(terminal) == code


def test_the_end_of_input_is_no_agreement(ask):
    terminal = ask("confirm")

    terminal.expect_exact("[y/N] ")
    terminal.sendeof()

    assert exit_code(terminal) == 4


def test_control_c_at_a_question_is_130(ask):
    terminal = ask("confirm")

    terminal.expect_exact("[y/N] ")
    terminal.sendintr()

    assert exit_code(terminal) == 130


def test_a_reason_is_asked_for(ask):
    terminal = ask("reason")

    terminal.expect_exact("Why should it go? ")
    terminal.sendline("re-extracted with the final state")

    terminal.expect_exact("because re-extracted with the final state")
    assert exit_code(terminal) == 0


def test_yes_answers_a_confirmation_but_never_a_waiver(ask):
    assert exit_code(ask("typed", "--yes")) == 0

    terminal = ask("waiver", "--yes")
    terminal.expect_exact("Type 924 GiB to go on: ")


def test_without_a_terminal_the_flag_is_named(monkeypatch):
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        silent = Dialogue(yes=False, reason=None)

        with pytest.raises(ConfirmationNeeded) as needed:
            silent.confirm("Create the catalog?")
        with pytest.raises(ReasonNeeded) as reason_needed:
            silent.reason()
        with pytest.raises(ReasonNeeded) as both_needed:
            silent.reason(then_confirmed=True)
        with pytest.raises(ReasonNeeded) as only_the_reason_needed:
            Dialogue(yes=True, reason=None).reason(then_confirmed=True)

    assert needed.value.remedy == "add --yes"
    assert "confirmation" not in reason_needed.value.message
    assert reason_needed.value.remedy == only_the_reason_needed.value.remedy == "add --reason TEXT"
    assert both_needed.value.remedy == "add --reason TEXT and --yes, since a confirmation follows"
    assert (needed.value.exit_code, reason_needed.value.exit_code) == (2, 2)


def test_flags_answer_without_a_terminal():
    given = Dialogue(yes=True, reason=" superseded ")

    given.confirm("Create the catalog?")

    assert given.reason() == "superseded"


def test_the_first_command_offers_to_make_the_catalog(environment, tmp_path):
    words = ["-m", "artifactctl", "--catalog", str(tmp_path / "catalog.db"), "ls"]
    terminal = pexpect.spawn(sys.executable, words, env=environment, encoding="utf-8", timeout=30, dimensions=(24, 200))

    terminal.expect_exact("Make one? [y/N] ")
    terminal.sendline("y")

    terminal.expect_exact("no artifacts")
    assert exit_code(terminal) == 0
    assert (tmp_path / "catalog.db").is_file()
