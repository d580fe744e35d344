"""What a verification found, for people and for scripts."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from artifactctl.domain.text import display_path, printable
from artifactctl.domain.verification import ToRedo, VerifyResult
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import counted, format_tokens
from artifactctl.report.tables import Document

MOST_PROBLEMS = 10


def verify_document(results: Sequence[VerifyResult]) -> Document:
    """Return one line a copy, its problems below; of several copies of an artifact each says where it lies."""
    named = Counter(result.name for result in results)
    return [line for result in results for line in _lines(result, is_one_of_many=named[result.name] > 1)]


def _lines(result: VerifyResult, *, is_one_of_many: bool) -> list[str]:
    name = printable(result.name)
    if is_one_of_many:
        name += f" at {result.host}:{display_path(result.path)}"
    holds = [f"{format_tokens(result.tokens)} tokens"] if result.tokens is not None else []
    holds += [counted(result.records, "record")] if result.records is not None else []
    what = f" ({', '.join(holds)})" if holds else ""
    if result.ok:
        whole = f"✓ {name}: verified at level {result.level.value}{what}"
        return [whole, *(f"    {printable(reservation)}" for reservation in result.reservations)]
    lines = [f"✗ {name}: not verified at level {result.level.value}{what}"]
    lines += [f"    {printable(problem)}" for problem in result.problems[:MOST_PROBLEMS]]
    more = len(result.problems) - MOST_PROBLEMS
    lines += [f"    and {more} more"] if more > 0 else []
    return lines + ([f"    to be made again: {_counted_redo(result.redo)}"] if result.redo else [])


def _counted_redo(redo: Sequence[ToRedo]) -> str:
    records = sum(each.record is not None for each in redo)
    parts = ((records, "record"), (len(redo) - records, "file"))
    return " and ".join(counted(number, noun) for number, noun in parts if number)


def verify_payload(results: Sequence[VerifyResult]) -> dict[str, Any]:
    """Return the fields of cli.md, `verify --json`."""
    return {
        "results": [
            {
                "name": result.name,
                "host": result.host,
                **json_path(result.path),
                "ok": result.ok,
                "level": result.level.value,
                "problems": list(result.problems),
                "reservations": list(result.reservations),
                "tokens": result.tokens,
                "records": result.records,
                "to_redo": None if result.redo is None else len(result.redo),
            }
            for result in results
        ]
    }
