"""The shell completes the names of artifacts: in bash itself, and by the protocol of zsh and fish."""

import shlex
import subprocess
import sys

import pytest

from tests.cli.conftest import CHECKOUT


@pytest.fixture
def environment_of(stocked, tmp_path):
    """Return the environment of somebody who has the stocked catalog and `artifactctl` on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "artifactctl"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m artifactctl "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "PYTHONPATH": str(CHECKOUT),
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "LC_ALL": "C.UTF-8",
    }


def run(words, environment):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stderr == ""
    return done.stdout.splitlines()


def completed_by_bash(line, environment):
    """Return what bash offers when TAB is pressed at the end of the line."""
    words = line.split(" ")
    script = (
        'eval "$(artifactctl completion bash)"\n'
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}\n"
        "$(complete -p artifactctl | sed 's/.*-F \\([^ ]*\\).*/\\1/') artifactctl\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run(["bash", "--norc", "-c", script], environment)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("artifactctl show scratch/hs", ["scratch/hs-new", "scratch/hs-old"]),
        ("artifactctl supersede scratch/hs-old --by scratch/hs-n", ["scratch/hs-new"]),
        ("artifactctl hold add scratch/m", ["scratch/map"]),
        ("artifactctl quarantine r", ["restore"]),
        ("artifactctl reclaim --dr", ["--dry-run"]),
        ("artifactctl show nothing-like-it", [""]),
    ],
)
def test_bash_completes(line, offered, environment_of):
    assert completed_by_bash(line, environment_of) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_are_told_the_names(shell, environment_of):
    line = {"COMP_WORDS": "artifactctl show scratch/hs", "COMP_CWORD": "2"}
    if shell == "fish":
        line["COMP_CWORD"] = "scratch/hs"

    told = run(["artifactctl"], {**environment_of, **line, "_ARTIFACTCTL_COMPLETE": f"{shell}_complete"})

    assert [word for word in " ".join(told).replace(",", " ").split() if "/" in word] == [
        "scratch/hs-new",
        "scratch/hs-old",
    ]


def test_without_a_catalog_nothing_is_offered_and_nothing_is_said(environment_of):
    nowhere = {**environment_of, "XDG_STATE_HOME": environment_of["HOME"] + "/none"}

    assert completed_by_bash("artifactctl show scratch/hs", nowhere) == [""]
