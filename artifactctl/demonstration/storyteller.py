"""Says a line, shows a command as a person types it, runs it, and shows what it printed."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import artifactctl
from artifactctl.domain.errors import ArtifactctlError

WIDTH = 100
"""Columns after which a command goes on in a next line."""

_INDENT = "  "
_OWN_VARIABLES = "ARTIFACTCTL_"


class StoryStopped(ArtifactctlError):
    """A command of the story ended in another way than the story tells."""


class Storyteller:
    """Tells in the order in which it is asked to. `write` takes one line; `encoding` is what can be written.

    `emphasise` makes a heading or a command stand out where the reader's terminal can.
    """

    def __init__(
        self, *, write: Callable[[str], None], emphasise: Callable[[str], str], encoding: str, folder: Path
    ) -> None:
        self._write = write
        self._emphasise = emphasise
        self._encoding = encoding
        self._folder = folder
        self._chapters = 0
        self._is_spaced = True

    def title(self, text: str) -> None:
        """Begin the story."""
        self._line(self._emphasise(text))

    def heading(self, text: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self._space()
        self._line(self._emphasise(f"{self._chapters}. {text}"))

    def say(self, *lines: str) -> None:
        """Narrate."""
        for line in lines:
            self._line(line)

    def show(self, text: str) -> None:
        """Show lines as they were printed, set in, and an empty one below."""
        for line in text.rstrip("\n").splitlines():
            self._line(f"{_INDENT}{line}".rstrip())
        self._space()

    def type(self, *words: str, background: bool = False) -> None:
        """Show a command as a person types it."""
        self._space()
        for line in command_lines(words, background=background):
            self._line(f"{_INDENT}{self._emphasise(line)}")

    def run(self, *words: str, ends_with: Sequence[int] = (0,)) -> int:
        """Show a command, run it in the story's folder and show its output; return its exit code.

        Its talk on stderr (hints, progress) is left out where all went well. StoryStopped when the code is none of
        `ends_with`.
        """
        self.type(*words)
        done = self._execute(words)
        self.show(done.stdout if done.returncode == 0 else done.stdout + done.stderr)
        if done.returncode not in ends_with:
            raise StoryStopped(
                f"`{shlex.join(words)}` ended with code {done.returncode}, which the story does not foresee",
                remedy="its output above says why; `artifactctl demo --dir DIR` tells it in another place",
            )
        return done.returncode

    def _execute(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        own = (sys.executable, "-P", "-m", "artifactctl")  # -P: nothing in the working directory is imported
        return subprocess.run(
            (*own, *words[1:]) if words[0] == "artifactctl" else words,
            cwd=self._folder,
            env=story_environment(os.environ, folder=self._folder, encoding=self._encoding),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding=self._encoding,
            errors="backslashreplace",
            check=False,
        )

    def _space(self) -> None:
        """Leave one empty line, never two."""
        if not self._is_spaced:
            self._line("")

    def _line(self, text: str) -> None:
        self._write(text)
        self._is_spaced = not text


def story_environment(inherited: Mapping[str, str], *, folder: Path, encoding: str) -> dict[str, str]:
    """Return the environment of the story's commands: the catalog in `folder`, and nobody's configuration."""
    package = str(Path(artifactctl.__file__).resolve().parents[1])
    kept = {name: value for name, value in inherited.items() if not name.startswith(_OWN_VARIABLES)}
    return {
        **kept,
        "ARTIFACTCTL_CATALOG": str(folder / "catalog.db"),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, (package, inherited.get("PYTHONPATH", "")))),
        "PYTHONIOENCODING": encoding,
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }


def command_lines(words: Sequence[str], *, background: bool = False) -> list[str]:
    """Return `$ words`, continued over several lines where one would be longer than WIDTH."""
    lines, current = [], "$"
    for part in _kept_together([shlex.quote(word) for word in words]):
        if len(current) + len(part) + 3 > WIDTH:
            lines.append(f"{current} \\")
            current = "     "
        current = f"{current} {part}"
    return [*lines, f"{current} &" if background else current]


def _kept_together(words: Sequence[str]) -> list[str]:
    """Join every option with the value behind it, so that no line ends between the two."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("--") and " " not in parts[-1] and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts
