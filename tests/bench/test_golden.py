"""The session runner notices every difference, and rewrites only when asked to."""

from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.golden import UPDATE_VARIABLE, SessionMalformed, check_session, parse, scrub

RIGHT = "# say it\n$ echo said; echo talk >&2; exit 4\nexit 4\nstdout:\n    said\nstderr:\n    talk\n"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session file that is right."""
    monkeypatch.delenv(UPDATE_VARIABLE, raising=False)
    path = tmp_path / "one.session"
    path.write_text(RIGHT)
    return path


def test_a_session_that_goes_as_written_passes(session: Path, cli: CommandLine) -> None:
    check_session(session, cli)

    assert session.read_text() == RIGHT


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("exit 4\nstd", "exit 3\nstd"),
        ("    said", "    sad"),
        ("    talk", "    talk\n\n"),
        ("stderr:\n    talk\n", ""),
    ],
    ids=["exit code", "stdout", "an empty line more", "stderr left out"],
)
def test_a_session_that_went_otherwise_fails(right: str, wrong: str, session: Path, cli: CommandLine) -> None:
    session.write_text(RIGHT.replace(right, wrong))

    with pytest.raises(AssertionError, match=r"one\.session went otherwise"):
        check_session(session, cli)


def test_a_session_is_rewritten_when_asked_for(
    session: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.write_text(RIGHT.replace("said\nstd", "something else\nstd"))
    monkeypatch.setenv(UPDATE_VARIABLE, "1")

    check_session(session, cli)

    assert session.read_text() == RIGHT


@pytest.mark.parametrize("text", ["$ echo\nstray words\n", "# only a comment\n", "exit 0\n"])
def test_a_malformed_session_is_refused(text: str) -> None:
    with pytest.raises(SessionMalformed):
        parse(text)


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("taken at 2026-11-30T07:52:01.123456+00:00.", "taken at <time>."),
        ("until 2026-12-07 07:52 UTC", "until <time>"),
        ("plan 9f2c41d07ab3 and 9f2c41d07ab3e5", "plan <hash> and <hash>"),
        ("pid 4711, process 12", "pid <pid>, process <pid>"),
        ('{"pid": 4711, "size_bytes": 4711}', '{"pid": <number>, "size_bytes": 4711}'),
        ("1073741824000 bytes, 924 GiB, 3776102400000", "1073741824000 bytes, 924 GiB, 3776102400000"),
        ("checkpoint-1000/model-00001-of-00002.safetensors", "checkpoint-1000/model-00001-of-00002.safetensors"),
    ],
)
def test_what_differs_from_run_to_run_is_scrubbed_and_nothing_else(text: str, scrubbed: str, cli: CommandLine) -> None:
    assert scrub(text, cli) == scrubbed


def test_the_folders_of_the_run_are_scrubbed(cli: CommandLine) -> None:
    assert scrub(f"{cli.cwd}/a {cli.home}/state", cli) == "<work>/a <home>/state"
