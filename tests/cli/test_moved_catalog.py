"""A catalog that moved away: nothing that rests on it is done, saved or written, and the new one is named."""

from pathlib import Path

import click
import pytest

from artifactctl.cli.command_table import COMMANDS, PLUG_IN_SUMMARIES
from artifactctl.cli.main import program
from tests.cli.stock import Shop

ONLY_READS = {
    "artifact-free": ("demo", "init", "completion", "guard"),
    "answers": (
        "host ls", "host check", "root ls", "ls", "show", "lineage", "du", "df", "plan pipeline", "reservation ls",
        "rescue", "quarantine ls", "why", "hold ls", "leave", "lease ls", "role ls", "role sql", "audit ls",
        "audit show", "audit verify", "audit export", "report", "metrics",
    ),
    "what the catalog itself is": ("catalog backup", "catalog restore", "catalog export"),
}  # fmt: skip


@pytest.fixture
def moved(stocked: Shop, tmp_path: Path) -> Shop:
    """A stocked place whose catalog moved to `new.db`."""
    done = stocked.run("catalog", "copy", str(tmp_path / "new.db"), "--yes", "--reason", "test")
    assert done.exit_code == 0, done.output
    (tmp_path / "another").mkdir()
    return stocked


def commands(group: click.Group, context: click.Context, before: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= commands(command, context, f"{before}{name} ")
        else:
            found[f"{before}{name}"] = command
    return found


def test_every_command_says_whether_it_changes_something() -> None:
    context = click.Context(program)
    own = {name: each for name, each in commands(program, context).items() if name.split()[0] in COMMANDS}
    reading = {name for names in ONLY_READS.values() for name in names}

    silent = {name for name, each in own.items() if getattr(each, "changes", None) is None}

    assert {name for name in silent if not name.startswith("policy ")} == reading
    assert not reading & set(PLUG_IN_SUMMARIES)


@pytest.mark.parametrize(
    "words",
    [
        ("reclaim", "scratch/hs-old", "--out", "{tmp}/plan.json"),
        ("reclaim", "scratch/hs-old", "--dry-run", "--out", "{tmp}/plan.json"),
        ("reclaim", "scratch/hs-old", "--yes", "--reason", "x"),
        ("plan", "extraction", "--tokens", "10M", "--volume", "scratch", "--out", "{tmp}/plan.json"),
        ("plan", "extraction", "--tokens", "10M", "--volume", "scratch", "--reserve"),
        ("root", "add", "{tmp}/another"),
        ("root", "attest", "scratch", "--lease"),
        ("scan", "scratch"),
        ("register", "{tmp}/volume/map", "--kind", "other"),
        ("verify", "--all"),
        ("hold", "add", "scratch/map", "--reason", "x"),
        ("lease", "run", "scratch/map", "--", "touch", "{tmp}/ran"),
        ("quarantine", "purge", "--expired", "--yes"),
        ("doctor", "--repair"),
        ("archive", "scratch/map", "--to", "{tmp}/another"),
        ("catalog", "copy", "{tmp}/third.db", "--yes"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_it_is_refused_and_the_new_catalog_named(moved: Shop, tmp_path: Path, words: tuple[str, ...]) -> None:
    before = sorted(path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "state"))

    done = moved.run(*(word.format(tmp=tmp_path) for word in words))

    assert done.exit_code == 4, done.output
    assert f"moved to {tmp_path}/new.db and takes no more changes here" in done.stderr
    assert f"--catalog {tmp_path}/new.db" in done.stderr
    assert sorted(path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "state")) == before


@pytest.mark.parametrize("words", [("reclaim", "scratch/hs-old", "--dry-run"), ("ls",), ("doctor",)], ids=" ".join)
def test_what_only_looks_still_answers(moved: Shop, words: tuple[str, ...]) -> None:
    done = moved.run(*words)

    assert "takes no more changes" not in done.stderr
    assert done.exit_code != 1
