"""Tables as values: the shell draws them on a terminal, and writes plain columns elsewhere."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; numbers go to the right."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under titled columns. `empty` is what is said instead when there are no rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells under {len(self.columns)} columns")


Document = Sequence[str | Table]
"""What a command says: lines (each may hold several) and tables, from top to bottom."""


def columns(*titles: str) -> tuple[Column, ...]:
    """Return columns by title; a title that begins with `>` is a column of numbers."""
    return tuple(Column(title=title.removeprefix(">"), right=title.startswith(">")) for title in titles)


def display_width(text: str) -> int:
    """Return how many terminal cells the text takes: wide characters two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def plain_lines(table: Table) -> list[str]:
    """Return the table as aligned columns, never wrapped, without trailing blanks."""
    if not table.rows:
        return [table.empty] if table.empty else []
    grid = [tuple(column.title for column in table.columns), *table.rows]
    widths = [max(display_width(row[index]) for row in grid) for index in range(len(table.columns))]
    return [_line(row, widths, table.columns) for row in grid]


def plain_text(document: Document) -> str:
    """Return the whole document as plain text without a newline at the end."""
    return "\n".join(line for block in document for line in _block_lines(block))


def key_values(pairs: Iterable[tuple[str, str]]) -> str:
    """Return `key  value` lines with the values aligned; pairs with an empty value are left out."""
    shown = [(key, value) for key, value in pairs if value]
    width = max((display_width(key) for key, _ in shown), default=0)
    return "\n".join(f"{key}{' ' * (width - display_width(key))}{GAP}{value}" for key, value in shown)


def _block_lines(block: str | Table) -> list[str]:
    return [block] if isinstance(block, str) else plain_lines(block)


def _line(row: Sequence[str], widths: Sequence[int], shape: Sequence[Column]) -> str:
    cells = []
    for text, width, column in zip(row, widths, shape, strict=True):
        padding = " " * (width - display_width(text))
        cells.append(padding + text if column.right else text + padding)
    return GAP.join(cells).rstrip()
