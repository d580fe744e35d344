"""Golden sessions: commands with their exit code and both streams, in one file that reads like a terminal.

    # what this session shows
    $ artifactctl --version
    exit 0
    stdout:
        artifactctl 0.1.0

Every command runs through bash in the session's own folder, with `artifactctl` and `python` on its PATH; an empty
stream has no block. Where ARTIFACTCTL_UPDATE_GOLDEN=1 is set the file is rewritten with what really happened.
"""

import os
import pwd
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.command_line import CommandLine

UPDATE_VARIABLE = "ARTIFACTCTL_UPDATE_GOLDEN"
INDENT = "    "
NO_NEWLINE = "\\ no newline at the end"
OUTCOME = re.compile(rf"exit \d+|stdout:|stderr:|{re.escape(NO_NEWLINE)}|{INDENT}.*|")


class SessionMalformed(ValueError):
    """A session file that cannot be read; the message names file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One command and what came of it. `remarks` are the comment lines that stand before it."""

    command: str
    code: int
    stdout: str
    stderr: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The exchanges of one file, in order."""

    exchanges: tuple[Exchange, ...]
    tail: tuple[str, ...] = ()


def check_session(path: Path, command_line: CommandLine, *, reads_as: Mapping[str, str] | None = None) -> None:
    """Run the session at `path` and compare, or rewrite it where that was asked for.

    `reads_as` gives texts that stand for others in this run, such as where its catalog is.
    """
    written = path.read_text(encoding="utf-8")
    expected = parse(written, name=path.name)
    happened = format_session(run(expected, command_line))
    for here, there in (reads_as or {}).items():
        happened = happened.replace(here, there)
    if os.environ.get(UPDATE_VARIABLE, "") not in ("", "0"):
        path.write_text(happened, encoding="utf-8")
        return
    assert happened == written, f"{path.name} went otherwise; {UPDATE_VARIABLE}=1 rewrites it"


def run(session: Session, command_line: CommandLine) -> Session:
    """Execute the commands of the session and return it with what happened, scrubbed."""
    environment = {**command_line.environment, "PATH": f"{_programs(command_line)}:{command_line.environment['PATH']}"}
    exchanges = []
    for exchange in session.exchanges:
        done = subprocess.run(
            ["bash", "-c", exchange.command],
            cwd=command_line.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        stdout, stderr = (
            scrub(stream.decode("utf-8", errors="backslashreplace"), command_line)
            for stream in (done.stdout, done.stderr)
        )
        exchanges.append(replace(exchange, code=done.returncode, stdout=stdout, stderr=stderr))
    return replace(session, exchanges=tuple(exchanges))


def _programs(command_line: CommandLine) -> Path:
    """Make the folder with the two programs a session may call by name."""
    folder = command_line.home / "bin"
    folder.mkdir(exist_ok=True)
    for name, words in (("artifactctl", command_line.program), ("python", [sys.executable])):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return folder


DATE = r"\b20\d\d-\d\d-\d\d\b"
INSTANT = r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+-]\d\d:?\d\d)?"
SCRUBBED: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(INSTANT), "<time>"),
    (re.compile(DATE), "<date>"),
    (re.compile(r"\b20\d{6}-[0-9a-f]{8}\b"), "<operation>"),
    (re.compile(r"\bplan [0-9a-f]{12}\b"), "plan <hash>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    # 12 digits and more: a shortened digest is as random as a whole one. At least one letter, so no byte count.
    (re.compile(r"\b(?=[0-9]*[a-f])[0-9a-f]{12,128}\b"), "<hash>"),
    (re.compile(r"\b(pid|PID|process)([ =:]+)\d+\b"), r"\1\2<pid>"),
    (re.compile(r'("(?:pid|inode)": )\d+'), r"\1<number>"),
    # What a look at all processes could see depends on who runs the tests, and where.
    (re.compile(r"^(.*[✓✗?] not_held:? +).*", re.MULTILINE), r"\1<what was seen of the processes>"),
)


def scrub(text: str, command_line: CommandLine) -> str:
    """Replace what differs from run to run: folders, people, instants, ids, digests, process numbers."""
    text = "\n\n".join(_without_places(block, command_line) for block in text.split("\n\n"))
    for pattern, replacement in SCRUBBED:
        text = pattern.sub(replacement, text)
    return text


def _without_places(block: str, command_line: CommandLine) -> str:
    """Replace folders, actor and machine in a block of lines; columns that were as wide as these are drawn together."""
    machine = os.uname().nodename
    actor = f"{pwd.getpwuid(os.getuid()).pw_name}@{machine}"
    named = block
    for folder, name in ((command_line.cwd, "<work>"), (command_line.home, "<home>"), (actor, "<actor>")):
        named = named.replace(str(folder), name)
    named = re.sub(rf"(?<![\w./-]){re.escape(machine)}(?![\w./-])", "<host>", named)
    return named if named == block else re.sub(r"(?<=\S) {3,}(?=\S)", "  ", named)


def format_session(session: Session) -> str:
    """Return the session as the text of its file: exchanges apart by one empty line."""
    parts = ["\n".join(_lines(exchange)) for exchange in session.exchanges]
    return "\n\n".join([*parts, *filter(None, ["\n".join(session.tail)])]) + "\n"


def _lines(exchange: Exchange) -> Iterator[str]:
    yield from exchange.remarks
    yield f"$ {exchange.command}"
    yield f"exit {exchange.code}"
    for name, text in (("stdout", exchange.stdout), ("stderr", exchange.stderr)):
        if text:
            yield f"{name}:"
            yield from (INDENT + line if line else "" for line in text.removesuffix("\n").split("\n"))
            if not text.endswith("\n"):
                yield NO_NEWLINE


def parse(text: str, *, name: str = "session") -> Session:
    """Read commands and comments; the expected outcome is the text itself, which `check_session` compares whole."""
    exchanges: list[Exchange] = []
    remarks: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("$ "):
            exchanges.append(Exchange(command=line[2:], code=0, stdout="", stderr="", remarks=tuple(remarks)))
            remarks = []
        elif line.startswith("#"):
            remarks.append(line)
        elif not OUTCOME.fullmatch(line):
            raise SessionMalformed(f"{name}:{number}: neither `$ command`, `exit N`, a stream nor a comment: {line}")
    if not exchanges:
        raise SessionMalformed(f"{name}: holds no command")
    return Session(exchanges=tuple(exchanges), tail=tuple(remarks))
