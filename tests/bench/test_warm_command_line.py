"""The warm command line is the same program: same answers, streams, exit codes and ends by signal."""

import shlex
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.warm_command_line import WarmCommandLine


@pytest.fixture
def cold(warm_cli: WarmCommandLine) -> CommandLine:
    """The plain command line in the same home."""
    return CommandLine(home=warm_cli.home, cwd=warm_cli.cwd)


@pytest.mark.parametrize("words", [("--version",), ("init",), ("ls", "--json"), ("why", "x\udcff\n"), ("no-such",)])
def test_it_answers_as_the_plain_one_does(cold: CommandLine, warm_cli: WarmCommandLine, words: tuple[str, ...]) -> None:
    assert cold("init").code == 0

    assert warm_cli(*words) == cold(*words)


def test_typed_input_environment_and_folder_reach_the_command(warm_cli: WarmCommandLine) -> None:
    (warm_cli.cwd / "artifactctl.toml").write_text("[defaults]\nformat = 'json'\n")
    catalog = warm_cli.cwd / "other.db"

    assert warm_cli("init", environment={"ARTIFACTCTL_CATALOG": str(catalog)}).json()["catalog"]
    assert catalog.is_file()


def test_a_moved_clock_is_seen(warm_cli: WarmCommandLine) -> None:
    moved = replace(warm_cli, clock_ahead=timedelta(days=400))
    moved("init")

    event = warm_cli("audit", "ls", "--json").json()["events"][0]

    assert event["at"] > "2027"


def test_a_shell_may_run_several_at_a_time_and_nest_them(warm_cli: WarmCommandLine, cold: CommandLine) -> None:
    warm_cli("init")
    program = shlex.join(map(str, warm_cli.program))
    script = f"{program} ls --json | {program} lease run --help; {program} no-such; {program} ls --json"

    done = subprocess.run(
        ["sh", "-c", script], env=warm_cli.environment, cwd=warm_cli.cwd, capture_output=True, text=True
    )

    assert done.stdout == cold("lease", "run", "--help").stdout + cold("ls", "--json").stdout
    assert done.stderr == cold("no-such").stderr
