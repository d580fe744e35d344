"""YAML as plain data with places; whatever the text is, it ends in findings and never in an exception."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifactctl.policy.documents import read_document
from artifactctl.policy.linting import lint
from artifactctl.policy.reading import read_policy
from tests.bench.sandbox import CHECKOUT
from tests.builders import NOON

EAGLE3 = (CHECKOUT / "policies" / "eagle3.yaml").read_text(encoding="utf-8")
LINES = EAGLE3.splitlines()
ODDITIES = (
    "",
    "~",
    "[]",
    "{}",
    "[[]]",
    "{a: {}}",
    "-1",
    "0x1",
    "1e3",
    "&a x",
    "*a",
    "!!str x",
    "'",
    '"',
    "|",
    "%",
    "@",
    "\t",
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("true", True),
        ("True", "True"),
        ("0777", "0777"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("12:30:00", "12:30:00"),
        ("2027-03-01", "2027-03-01"),
        ("42", 42),
        ("-3", -3),
        ("0.5", 0.5),
        ("'42'", "42"),
        ("30%", "30%"),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_a_scalar_means_what_it_looks_like(text: str, value: object) -> None:
    found = read_document("p.yaml", f"key: {text}\n").data["key"]

    assert (found, type(found)) == (value, type(value))


def test_every_key_and_item_keeps_its_place() -> None:
    document = read_document("p.yaml", "# c\na:\n  - x\n  - {k: [1, 2], 'ü': 3}\n")

    places = {path: (place.line, place.column) for path, place in document.places.items()}
    assert places == {
        (): (2, 1),
        ("a",): (2, 1),
        ("a", 0): (3, 5),
        ("a", 1): (4, 5),
        ("a", 1, "k"): (4, 6),
        ("a", 1, "k", 0): (4, 10),
        ("a", 1, "k", 1): (4, 13),
        ("a", 1, "ü"): (4, 17),
    }
    assert str(document.place(("a", 1, "k", 7, "z"))) == "p.yaml:4:6"


def test_a_byte_order_mark_does_not_move_the_first_line() -> None:
    assert str(read_document("p.yaml", b"\xef\xbb\xbfa: 1\n").place(("a",))) == "p.yaml:1:1"


@pytest.mark.parametrize("text", ["[" * 20_000, "{a: " * 5_000, "- " * 5_000 + "a", "[" * 300 + "]" * 300])
def test_no_depth_brings_the_reader_down(text: str) -> None:
    (problem,) = read_document("p.yaml", text).findings

    assert problem.message == "nested more than 32 levels deep"


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw the eagle3 policy with up to three lines lost, doubled, cut off, or with another value."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(lines) - 1))
        line = lines[number]
        lines[number : number + 1] = draw(
            st.sampled_from(
                (
                    [],
                    [line, line],
                    [line[: len(line) // 2]],
                    [f"{line.split(':')[0]}: {draw(st.sampled_from(ODDITIES))}"],
                    [f"{line} {draw(st.sampled_from(ODDITIES))}"],
                )
            )
        )
        lines = lines or [""]
    return "\n".join(lines) + "\n"


@settings(max_examples=40)
@given(damaged())
def test_a_damaged_policy_ends_in_findings_inside_the_file(text: str) -> None:
    last = text.count("\n") + 1

    for item in lint(read_policy([("p.yaml", text)]), now=NOON):
        assert 1 <= item.place.line <= last
        assert item.place.column >= 1
        assert "\n" not in str(item)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_anything_at_all_ends_in_findings(content: bytes | str) -> None:
    assert lint(read_policy([("p.yaml", content)]), now=NOON) != ()
