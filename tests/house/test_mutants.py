"""The list of deliberate breaks fits the code: each text stands where it is said to, each test is there."""

import ast
from functools import cache

import pytest

from tests.bench.sandbox import CHECKOUT
from tests.mutants.breaks import Break, known_breaks
from tests.mutants.trying import chosen

BREAKS = pytest.mark.parametrize("wrong", known_breaks(), ids=lambda wrong: wrong.name)


@cache
def defined_in(file: str) -> frozenset[str]:
    """Return the names of the test functions and classes in a file."""
    tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))


@BREAKS
def test_a_break_fits_the_code_and_leaves_python(wrong: Break) -> None:
    broken = wrong.applied_to((CHECKOUT / wrong.file).read_text(encoding="utf-8"))

    ast.parse(broken)
    assert wrong.what


@BREAKS
def test_a_break_names_tests_that_there_are(wrong: Break) -> None:
    assert wrong.tests
    for test in wrong.tests:
        file, *names = test.split("::")
        assert defined_in(file)
        # A method of a contract's class is defined where the contract is.
        assert not names or names[0].partition("[")[0] in defined_in(file), test


def test_there_are_enough_of_them() -> None:
    assert len(known_breaks()) >= 20


def test_a_text_that_stands_there_no_more_or_twice_is_an_error() -> None:
    wrong = Break(name="x", what="x", file="x.py", before="a", after="b", tests=("tests/x.py",))

    for text in ("c", "a a"):
        with pytest.raises(ValueError, match="not once"):
            wrong.applied_to(text)
    with pytest.raises(LookupError, match="no break is called y"):
        chosen((wrong,), ["y"])
