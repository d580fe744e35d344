"""One place turns errors into words and exit codes."""

import subprocess

import pytest

RAISING = """
import click
from artifactctl.cli.shared_options import Command
from artifactctl.domain import errors

@click.command(cls=Command)
@click.argument("what")
def command(what):
    "Raise what is asked for."
    if what == "return":
        return errors.ExitCode.CHANGES
    raise {
        "usage": errors.UsageError("the size is wrong", remedy="write 5GiB"),
        "check": errors.CheckFailed("two shards are missing"),
        "refused": errors.Refused("/data/hs is in use", remedy="wait for pid 411"),
        "busy": errors.Busy("another operation holds the lock"),
        "host": errors.HostFailure("statvfs failed"),
        "bug": ZeroDivisionError("division by zero"),
        "interrupt": KeyboardInterrupt(),
        "bytes": errors.Refused(b"/data/\\xff\\xfe".decode("utf-8", "surrogateescape")),
        "exit": SystemExit(5),
    }[what]
"""


@pytest.mark.parametrize(
    ("what", "code", "stderr"),
    [
        ("usage", 2, "error: the size is wrong\nhint: write 5GiB\n"),
        ("check", 3, "error: two shards are missing\n"),
        ("refused", 4, "error: /data/hs is in use\nhint: wait for pid 411\n"),
        ("busy", 6, "error: another operation holds the lock\n"),
        ("host", 1, "error: statvfs failed\n"),
        ("interrupt", 130, "error: interrupted\n"),
        ("exit", 5, ""),
        ("return", 20, ""),
    ],
)
def test_every_error_class_owns_its_exit_code(artifactctl, plug_in, what, code, stderr):
    plug_in(RAISING)

    done = artifactctl("visitor", what)

    assert (done.returncode, done.stdout, done.stderr.lstrip("\n")) == (code, "", stderr)


def test_a_defect_is_told_without_a_traceback_and_with_the_way_to_get_one(artifactctl, plug_in):
    plug_in(RAISING)

    plain = artifactctl("visitor", "bug")
    debugged = artifactctl("visitor", "bug", "--debug")

    assert plain.returncode == debugged.returncode == 1
    assert "ZeroDivisionError: division by zero" in plain.stderr
    assert "--debug" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debugged.stderr


@pytest.mark.parametrize("locale", ["C.UTF-8", "POSIX"])
def test_a_name_that_is_not_utf8_never_crashes_the_message(artifactctl, plug_in, locale):
    plug_in(RAISING)

    done = artifactctl("visitor", "bytes", extra={"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})

    assert done.returncode == 4
    assert done.stderr == "error: /data/\\xff\\xfe\n"


@pytest.mark.parametrize(
    "words",
    [["visitor"], ["visitor", "--nonsense"], ["nonsense"], ["--nonsense"], ["visitor", "usage", "--format", "xml"]],
    ids=["argument missing", "unknown option", "unknown command", "unknown first option", "unknown format"],
)
def test_wrong_words_exit_2_with_a_hint(artifactctl, plug_in, words):
    plug_in(RAISING)

    done = artifactctl(*words)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "\nhint: " in done.stderr


def test_a_reader_that_goes_away_is_no_error(environment, plug_in, tmp_path):
    plug_in(
        """
import click
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import pass_wiring

@click.command(cls=Command)
@pass_wiring
def command(wiring):
    "Print a lot."
    for number in range(100_000):
        wiring.output.data(str(number))
"""
    )

    line = 'python -m artifactctl visitor | head -1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)

    assert done.stdout == "0\n0\n"
    assert done.stderr == ""
