"""Names in a comment on a pull request are shown as they are and do nothing."""

import pytest

from artifactctl.report.markdown import code, escaped, folded, markdown_table
from artifactctl.report.tables import Table, columns


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("a|b", "a\\|b"),
        ("*bold* _it_ <b>", "\\*bold\\* \\_it\\_ \\<b\\>"),
        ("[x](y) #1 @ada", "\\[x\\](y) \\#1 \\@ada"),
        ("two\nlines", "two lines"),
    ],
)
def test_text_stays_text(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("@ada/x", "`@ada/x`"), ("a|b", "`a\\|b`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("", "")],
)
def test_code_holds_any_name(text: str, shown: str) -> None:
    assert code(text) == shown


def test_a_table_has_a_line_under_its_titles_and_numbers_to_the_right() -> None:
    table = Table(columns=columns("name", ">bytes", "why"), rows=(("a|b", "1", "x|y"),))

    assert markdown_table(table, code_in="name").splitlines() == [
        "| name | bytes | why |",
        "| --- | ---: | --- |",
        "| `a\\|b` | 1 | x\\|y |",
    ]


def test_what_is_folded_is_markdown_again() -> None:
    assert folded("3 artifacts", "| a |") == "<details>\n<summary>3 artifacts</summary>\n\n| a |\n\n</details>"
