"""The stages as commands: found by their entry point, described, light to start, clear about what is missing."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from artifactctl.cli.command_table import PLUG_IN_SUMMARIES
from artifactctl.domain.errors import UsageError
from extract.cli import STAGES, extract
from extract.requirements import need
from tests.bench.sandbox import CHECKOUT
from tests.extract.conftest import Stages
from tests.extract.texts import openai, some_conversations, write_lines

HEAVY = {"torch", "numpy", "pyarrow", "tokenizers", "jinja2", "transformers", "sqlalchemy", "zstandard", "safetensors"}


def stage(name: str) -> click.Command:
    command = extract.get_command(click.Context(extract), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", STAGES)
def test_every_stage_and_option_has_help_and_the_table_says_the_same(name: str) -> None:
    command = stage(name)

    assert command.get_short_help_str(limit=200) == STAGES[name][1]
    assert [p.name for p in command.params if isinstance(p, click.Option) and not p.help] == []
    shown = CliRunner().invoke(extract, [name, "--help"])
    assert shown.exit_code == 0


def test_the_group_says_what_the_help_of_artifactctl_says() -> None:
    assert extract.help == PLUG_IN_SUMMARIES["extract"]


def test_the_stages_are_found_and_listed(stages: Stages) -> None:
    assert "extract" in stages.done("--help").stdout
    listed = stages.done("extract", "--help").stdout
    assert all(summary in listed for _, summary in STAGES.values())


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in STAGES)], ids=" ".join)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from extract.cli import extract\n"
        f"try: extract.main({words!r}, standalone_mode=True)\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert {name.partition(".")[0] for name in done.stderr.split()} & HEAVY == set()


def test_a_library_that_is_missing_is_named_with_what_to_install(stages: Stages, tmp_path: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, some_conversations(2, seed=1)))
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "tokenizers.py").write_text(
        "raise ModuleNotFoundError('No module named tokenizers', name='tokenizers')\n"
    )
    path = f"{absent}:{stages.cli.environment['PYTHONPATH']}"
    (stages.root / "model").mkdir()

    ended = stages.cli(
        "extract", "merge", source, "--out", "corpus", "--tokenizer", "model", environment={"PYTHONPATH": path}
    )

    assert ended.code == 2
    assert "applying a tokenizer needs the library tokenizers, which is not installed" in ended.stderr
    assert "hint: pip install 'artifactctl[extract]'" in ended.stderr


def test_the_library_is_named_and_not_the_module_in_it() -> None:
    with pytest.raises(UsageError, match="needs the library no_such_library"):
        need("no_such_library.inner", purpose="a test")
