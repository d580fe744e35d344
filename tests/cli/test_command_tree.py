"""The tree of commands: found by name, described in words, imported only when used."""

import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from artifactctl.cli.command_table import COMMANDS, SECTIONS
from artifactctl.cli.main import program
from tests.cli.conftest import CHECKOUT


def every_command(group, path=()):
    """Yield (words, command) for the whole built-in tree."""
    names = COMMANDS if group is program else group.commands
    for name in names:
        command = group.get_command(None, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


TREE = dict(every_command(program))


@pytest.mark.parametrize("words", TREE, ids=" ".join)
def test_every_command_and_option_has_help(words):
    command = TREE[words]

    assert command.help, "a command without help"
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help and p.name != "help"]
    assert silent == []


@pytest.mark.parametrize("words", TREE, ids=" ".join)
def test_help_is_shown_on_stdout_with_code_0(words):
    shown = CliRunner().invoke(program, [*words, "--help"])

    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"Usage: artifactctl {' '.join(words)}")


@pytest.mark.parametrize(("name", "summary"), [(n, s) for _, t in SECTIONS for n, (_, s) in t.items()])
def test_the_table_says_what_the_command_says(name, summary):
    assert TREE[(name,)].get_short_help_str(limit=200) == summary


def test_a_misspelled_command_gets_a_suggestion():
    shown = CliRunner().invoke(program, ["compltion"])

    assert shown.exit_code == 2
    assert "did you mean `artifactctl completion`?" in shown.stderr


def modules_loaded_by(words):
    """Return the modules that are loaded when the command has ended."""
    code = (
        "import sys\n"
        "from artifactctl.cli.main import program\n"
        f"try: program.main({words!r})\n"
        "except SystemExit: pass\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["completion", "bash"]])
def test_what_a_shell_or_a_reader_waits_for_imports_nothing_heavy(words):
    heavy = {
        "sqlalchemy",
        "alembic",
        "rich",
        "psutil",
        "paramiko",
        "numpy",
        "torch",
        "humanize",
        "zstandard",
        "asyncio",
    }

    assert modules_loaded_by(words) & heavy == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_and_version_import_little_of_ours(words):
    assert {module for module in modules_loaded_by(words) if module.startswith("artifactctl.")} <= {
        "artifactctl.cli",
        "artifactctl.cli.command_table",
        "artifactctl.cli.failures",
        "artifactctl.cli.lazy_group",
        "artifactctl.cli.main",
        "artifactctl.cli.plug_in_index",
        "artifactctl.cli.shared_options",
        "artifactctl.domain",
        "artifactctl.domain.errors",
    }


def test_every_target_of_the_table_exists():
    for target in COMMANDS.values():
        module, attribute = target.split(":")
        assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)


def test_a_plug_in_is_found_by_name_and_listed_with_its_package(artifactctl, plug_in):
    plug_in("import click\n\n@click.command()\ndef command():\n    'Say hello.'\n    click.echo('hello')\n")

    assert artifactctl("visitor").stdout == "hello\n"
    assert "visitor  From the package visitor." in artifactctl("--help").stdout


def test_a_broken_plug_in_breaks_only_itself(artifactctl, plug_in):
    plug_in("import a_module_that_is_not_there\n")

    assert artifactctl("--help").returncode == 0
    broken = artifactctl("visitor")
    assert broken.returncode == 1
    assert "the command `visitor` cannot be loaded: No module named 'a_module_that_is_not_there'" in broken.stderr
    assert "hint: " in broken.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_completion_script(artifactctl, shell):
    done = artifactctl("completion", shell)

    assert done.returncode == 0
    assert "_ARTIFACTCTL_COMPLETE" in done.stdout


def test_the_shell_is_offered_the_commands(artifactctl):
    done = artifactctl(
        extra={"_ARTIFACTCTL_COMPLETE": "bash_complete", "COMP_WORDS": "artifactctl comp", "COMP_CWORD": "1"}
    )

    assert done.stdout == "plain,completion\n"
