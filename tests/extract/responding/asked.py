"""Asking by the command line, and reading back what was written."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.command_line import Outcome, Word
from tests.extract.conftest import Stages
from tests.extract.responding.fake_server import FakeServer
from tests.extract.texts import write_lines

QUICK: tuple[Word, ...] = ("--max-tokens", "64", "--concurrency", "4")


def prompts_at(folder: Path, count: int, *, name: str = "prompts.jsonl") -> Path:
    """Write so many prompts: `question 0`, `question 1`, ..."""
    return write_lines(folder / name, ({"id": f"p{n}", "prompt": f"question {n}"} for n in range(count)))


def words_for(server: FakeServer, prompts: Path, *more: Word, out: str = "answers") -> list[Word]:
    """Return the command that asks the server."""
    return ["extract", "respond", prompts, "--server", server.url, "--model", "fake", "--out", out, *QUICK, *more]


def asked(stages: Stages, server: FakeServer, prompts: Path, *more: Word, code: int = 0) -> Any:
    """Run the command, which must end with `code`, and return what it says as JSON."""
    return stages.done(*words_for(server, prompts, *more), "--json", code=code).json()


def refused(stages: Stages, server: FakeServer, prompts: Path, *more: Word, code: int) -> Outcome:
    """Run the command, which must end with `code`."""
    return stages.done(*words_for(server, prompts, *more), code=code)


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a set, complete or not."""
    file = folder / "responses.jsonl"
    lines = (file if file.exists() else folder / "responses.jsonl.partial").read_bytes()
    return [json.loads(line) for line in lines.split(b"\n") if line]


def record_for(folder: Path, text: str) -> dict[str, Any]:
    """Return the one record whose question is `text`."""
    (found,) = [record for record in records_of(folder) if record["messages"][-2]["content"] == text]
    return found


def every_byte_below(folders: Sequence[Path]) -> bytes:
    """Return the content and the names of every file below the folders."""
    parts = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            parts.append(str(path).encode())
            if path.is_file() and not path.is_symlink():
                parts.append(path.read_bytes())
    return b"\0".join(parts)
