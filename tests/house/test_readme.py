"""What the README promises is so."""

import re
import shlex
import subprocess
from collections.abc import Iterator

import click
import pytest

from artifactctl.cli.command_table import COMMANDS
from artifactctl.cli.main import program
from artifactctl.domain.errors import ExitCode, UsageError
from artifactctl.domain.roles import RULES
from artifactctl.report.roles import acts_table
from artifactctl.report.server_privileges import privileges_table
from tests.bench.parsing import parse
from tests.bench.sandbox import CHECKOUT
from tests.house.sources import text_of


def test_the_first_commands_are_the_demonstration_and_the_tests() -> None:
    (first, *_) = _code_blocks()

    assert first.split("\n") == ["make demo", "make test"]


@pytest.mark.parametrize("target", ["demo", "test", "lint", "clean"])
def test_the_make_targets_exist(target: str) -> None:
    done = subprocess.run(["make", "--dry-run", target], cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_the_exit_codes_in_the_readme_are_those_of_the_program() -> None:
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", text_of("README.md"), flags=re.MULTILINE)]

    assert documented == [int(code) for code in ExitCode]


def test_every_command_stands_in_the_table_and_says_what_its_help_says() -> None:
    written = dict(re.findall(r"^\| `([a-z -]+)` \| (.+) \|$", text_of("README.md"), flags=re.MULTILINE))

    assert written == {" ".join(words): command.get_short_help_str(limit=300) for words, command in _leaves()}


def test_every_example_is_a_command_line_that_the_program_takes() -> None:
    examples = _examples()

    assert len(examples) >= 20
    for example in examples:
        parse(program, shlex.split(example)[1:])


@pytest.mark.parametrize(
    "example", ["ls --weight", "nothing", "hold add", "plan extraction --tokens 5g", "reclaim --need 1"]
)
def test_an_example_that_the_program_does_not_take_is_found(example: str) -> None:
    with pytest.raises((click.ClickException, UsageError)):
        parse(program, example.split())


def test_what_is_said_to_come_later_is_not_there_yet() -> None:
    later = text_of("README.md").split("## What is not there yet")[1].split("\n## ")[0]

    assert set(re.findall(r"`artifactctl ([a-z]+)", later)) & set(COMMANDS) == set()
    assert not {"archive", "leave", "extract", "train"} & set(COMMANDS), "then say so in the README"


def _leaves() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words and the command of everything that can be run."""
    waiting: list[tuple[tuple[str, ...], click.Command | None]] = [
        ((name,), program.get_command(click.Context(program), name)) for name in COMMANDS
    ]
    while waiting:
        words, command = waiting.pop()
        assert command is not None, words
        if isinstance(command, click.Group):
            waiting += [((*words, name), inner) for name, inner in command.commands.items()]
        else:
            yield words, command


def _examples() -> list[str]:
    """Return the command lines of the README: after a prompt, or between backticks; no patterns."""
    prompted = re.findall(r"^\$ (artifactctl .*)$", text_of("README.md"), flags=re.MULTILINE)
    spoken = re.findall(r"`(artifactctl [^`]*)`", text_of("README.md"))
    return [line for line in [*prompted, *spoken] if "COMMAND" not in line]


def _code_blocks() -> list[str]:
    return [
        block.strip() for block in re.findall(r"^```\n(.*?)^```", text_of("README.md"), flags=re.MULTILINE | re.DOTALL)
    ]


def test_the_table_of_acts_and_roles_is_that_of_the_program() -> None:
    assert acts_table() in text_of("README.md")


def test_the_commands_in_the_table_of_acts_are_there() -> None:
    known = {" ".join(words) for words, _ in _leaves()}
    named = {command.partition(" --")[0] for rule in RULES.values() for command in rule.commands}

    assert named <= known


def test_the_table_of_what_a_server_withholds_is_that_of_the_program() -> None:
    assert privileges_table() in text_of("artifactctl/DESIGN.md")
