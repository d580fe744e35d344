"""Run the real command line as a process of its own, in an environment that holds nothing of the developer's."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.sandbox import CHECKOUT

Word = str | bytes | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a command ended. The streams are text; bytes that are not UTF-8 are kept as surrogates."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Return the one JSON object that the command printed."""
        return json.loads(self.stdout)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """`artifactctl` with a home of its own below `home`; call it with the words of a command.

    `prefix` comes before the interpreter (`setpriv ...`, `strace ...`), `cwd` is where commands start.
    """

    home: Path
    cwd: Path
    prefix: tuple[str, ...] = ()
    extra_environment: Mapping[str, str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of the process: nothing is inherited but PATH."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(CHECKOUT),
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "NO_COLOR": "1",
            **(self.extra_environment or {}),
        }

    def command(self, *words: Word) -> list[Word]:
        """Return the argument vector, for tests that start it in their own way (strace, signals)."""
        return [*self.prefix, sys.executable, "-m", "artifactctl", *words]

    @property
    def program(self) -> list[Word]:
        """What a shell starts to run `artifactctl` with the words that follow."""
        return self.command()

    def __call__(
        self,
        *words: Word,
        typed: str = "",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = 120,
    ) -> Outcome:
        """Run `artifactctl` with `words` to its end. `typed` is its standard input, which is never a terminal."""
        done = subprocess.run(
            self.command(*words),
            input=os.fsencode(typed),
            capture_output=True,
            cwd=cwd or self.cwd,
            env={**self.environment, **(environment or {})},
            timeout=timeout_seconds,
            check=False,
        )
        return Outcome(code=done.returncode, stdout=_text(done.stdout), stderr=_text(done.stderr))

    def start(self, *words: Word) -> subprocess.Popen[bytes]:
        """Start `artifactctl` and return the running process, for tests that interrupt it."""
        return subprocess.Popen(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=self.environment,
        )


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="surrogateescape")


def command_line(folder: Path, *, prefix: Sequence[str] = ()) -> CommandLine:
    """Return a command line whose home and working directory are new folders below `folder`."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    return CommandLine(home=home, cwd=work, prefix=tuple(prefix))
