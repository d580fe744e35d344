"""What scripts get from `reclaim` when nothing may go, and when nothing has to."""

from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.warm_command_line import WarmCommandLine


@pytest.fixture
def cli(warm_cli: WarmCommandLine) -> CommandLine:
    """The command line without its start-up time, which nothing here is about."""
    return warm_cli


def stocked(cli: CommandLine) -> Path:
    """Return a root with one folder that nobody can rebuild."""
    place = cli.cwd / "data"
    (place / "old").mkdir(parents=True)
    (place / "old" / "notes.txt").write_text("x" * 5000)
    assert cli("init", "--yes").code == 0
    assert cli("root", "add", place).code == 0
    assert cli("register", place / "old", "--kind", "other").code == 0
    return place


def test_a_refused_reclaim_is_an_operation_with_refused_steps(cli: CommandLine) -> None:
    place = stocked(cli)

    done = cli("reclaim", "data/old", "--yes", "--reason", "old", "--json")

    answer = done.json()
    assert done.code == 4
    assert answer["schema"] == "artifactctl.operation/1"
    [step] = answer["steps"]
    assert (step["name"], step["outcome"]) == ("data/old", "refused")
    assert "recoverable" in {e["guard"] for e in step["evidence"] if e["verdict"] == "blocked"}
    assert answer["df_before"]["available_bytes"] > 0
    assert answer["difference_bytes"] == 0
    assert (place / "old" / "notes.txt").read_text() == "x" * 5000


def test_a_capacity_plan_that_fits_needs_nothing_and_says_so_in_every_field(cli: CommandLine, tmp_path: Path) -> None:
    place = stocked(cli)
    saved = tmp_path / "next.json"
    planned = cli("plan", "extraction", "--tokens", "1k", "--model", "qwen3-8b", "--volume", place, "--out", saved)
    assert planned.code == 0, planned.stderr

    done = cli("reclaim", "--for", saved, "--dry-run", "--json")

    answer = done.json()
    assert done.code == 0
    assert answer["needed_bytes"] == answer["expected_freed_bytes"] == answer["freed_after_purge_bytes"] == 0
    assert answer["steps"] == answer["refused"] == answer["caps"] == answer["waived"] == []
    assert answer["host"]
    assert answer["volume"]
