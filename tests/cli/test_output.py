"""stdout is data, stderr is talk, and each is plain where nobody looks at it."""

import io
import json

import pytest

from artifactctl.cli.output import Output
from artifactctl.cli.progress import Progress
from artifactctl.report.tables import Table, columns

SHARDS = Table(columns=columns("name", ">files"), rows=(("hs/é", "3"), ("a-much-longer-name", "12")))


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def output(format_name="text", color="auto", **environment):
    return Output(format_name=format_name, color=color, environment=environment)


def test_a_table_that_nobody_looks_at_is_plain_aligned_columns(capsys):
    output().document(["two artifacts", SHARDS])

    assert capsys.readouterr().out == (
        "two artifacts\nname                files\nhs/é                    3\na-much-longer-name     12\n"
    )


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colour_gets_plain_columns(monkeypatch, environment):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)

    output(**environment).document([SHARDS])

    assert "\x1b[" not in terminal.getvalue()


def test_a_terminal_gets_bold_titles(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)

    output().document([SHARDS])

    assert "\x1b[1mname" in terminal.getvalue()


def test_a_table_wider_than_the_terminal_keeps_its_names_whole(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "12")

    output().document([SHARDS])

    assert "a-much-longer-name     12\n" in terminal.getvalue()


def test_json_is_one_object_with_its_schema_first(capsys):
    output("json").answer("ls", payload=lambda: {"artifacts": []}, text=lambda: pytest.fail("text was built"))

    said = capsys.readouterr().out
    assert list(json.loads(said)) == ["schema", "artifacts"]
    assert json.loads(said)["schema"] == "artifactctl.ls/1"


def test_signs_that_the_encoding_lacks_become_plain_ones(monkeypatch):
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", latin)

    output().data("✓ confined → é \udcff")

    assert latin.buffer.getvalue() == "+ confined -> é \\udcff\n".encode("latin-1")


def test_progress_says_nothing_about_quick_work_and_a_line_a_minute_otherwise(capsys):
    instants = iter([0.0, 0.5, 59.0, 61.0, 62.0])
    progress = Progress(total=400, unit="files", label="scan", drawn=False, elapsed_clock=lambda: next(instants))

    for _ in range(4):
        progress.advance(61)
    progress.close()

    assert capsys.readouterr().err == "scan: 183 files of 400 files, 3 files/s, 72 s left\n"
