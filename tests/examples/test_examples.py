"""The examples do what they say."""

import os
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from artifactctl.configuration.settings import read_settings
from tests.bench.command_line import CommandLine
from tests.bench.warm_command_line import WarmCommandLine

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def cli(warm_cli: WarmCommandLine) -> CommandLine:
    """The command line without its start-up time, which nothing here is about."""
    return warm_cli


def test_every_example_is_in_the_table() -> None:
    table = (EXAMPLES / "README.md").read_text()

    for file in EXAMPLES.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in table


def test_the_pipeline_example_answers_with_a_peak(cli: CommandLine) -> None:
    done = cli("plan", "pipeline", str(EXAMPLES / "founding-story.toml"), "--json")

    assert done.code in (0, 3), done.stderr
    assert "3776" in done.stdout


def test_the_workflow_lints_tests_and_posts_what_a_change_would_do(cli: CommandLine, tmp_path: Path) -> None:
    workflow = YAML(typ="safe").load(EXAMPLES / "policy-review.yml")
    runs = {step.get("name"): step.get("run", "") for step in workflow["jobs"]["review"]["steps"]}
    shutil.copytree(EXAMPLES.parent / "policies", cli.cwd / "policies")
    environment = {**cli.environment, "PATH": _path_with_the_program(cli, tmp_path)}
    environment |= {"BASE": "main", "SNAPSHOT": "catalog-snapshot.json", "GITHUB_STEP_SUMMARY": "summary.md"}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "before"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=cli.cwd, check=True)
    cli("init", "--yes")
    cli("catalog", "export", "catalog-snapshot.json")

    for step in ("lint", "test", "impact"):
        done = subprocess.run(
            ["sh", "-ec", runs[step]], env=environment, cwd=cli.cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "polic" in (cli.cwd / "summary.md").read_text()


def test_the_hooks_are_commands_that_take_a_folder(cli: CommandLine) -> None:
    hooks = YAML(typ="safe").load(EXAMPLES.parent / ".pre-commit-hooks.yaml")
    shutil.copytree(EXAMPLES.parent / "policies", cli.cwd / "policies")

    assert [hook["id"] for hook in hooks] == ["artifactctl-policy-lint", "artifactctl-policy-test"]
    for hook in hooks:
        done = cli(*shlex.split(hook["entry"])[1:], *hook["args"])
        assert done.code == 0, done.stderr
        assert hook["pass_filenames"] is False


def test_the_configuration_example_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "artifactctl.toml").write_text((EXAMPLES / "artifactctl.toml").read_text())

    settings = read_settings(working_directory=tmp_path, environment={})

    assert settings.text("defaults.model") == "kimi-k2.5"
    assert tomllib.loads((EXAMPLES / "artifactctl.toml").read_text())["policy"]["max_bytes"] == "5TiB"


@pytest.mark.parametrize(("tokens", "says"), [("10k", "It fits"), ("87.8B", "does not fit")])
def test_the_script_says_whether_it_fits(cli: CommandLine, tmp_path: Path, tokens: str, says: str) -> None:
    path = _path_with_the_program(cli, tmp_path)

    done = subprocess.run(
        ["sh", str(EXAMPLES / "before-extraction.sh"), tokens, str(tmp_path)],
        env={**cli.environment, "PATH": path},
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        check=False,
    )

    assert says in done.stdout + done.stderr


def _path_with_the_program(cli: CommandLine, tmp_path: Path) -> str:
    """Return a PATH on which the program is found by its name."""
    program = tmp_path / "bin" / "artifactctl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec " + shlex.join(map(str, cli.program)) + ' "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{cli.environment['PATH']}"
