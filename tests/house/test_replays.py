"""Each public report of lost data in `tests/replays.toml` is tried by tests that there are, or says why not."""

import ast
import re
import tomllib
from functools import cache
from typing import Any

import pytest

from tests.bench.sandbox import CHECKOUT

REPORTS: dict[str, dict[str, Any]] = tomllib.loads((CHECKOUT / "tests" / "replays.toml").read_text(encoding="utf-8"))


@cache
def defined_in(file: str) -> frozenset[str]:
    """Return the names of the test functions and methods that a file defines."""
    tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("report", sorted(REPORTS))
def test_a_report_names_its_source_and_the_tests_that_there_are(report: str) -> None:
    entry = REPORTS[report]
    tests = entry.get("tests", [])

    assert re.fullmatch(r"R\d\d", report)
    assert entry["source"]
    assert entry["what_happened"]
    assert bool(tests) is not bool(entry.get("does_not_apply"))
    absent = [name for name in tests if name.partition("::")[2] not in defined_in(name.partition("::")[0])]
    assert absent == []


def test_the_list_is_whole() -> None:
    """Reports are taken out with a reason, never silently."""
    assert len(REPORTS) == 45


def test_a_test_that_is_not_there_would_be_found() -> None:
    assert "test_of_nothing" not in defined_in("tests/house/test_replays.py")
    assert "test_the_list_is_whole" in defined_in("tests/house/test_replays.py")
