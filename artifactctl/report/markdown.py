"""Tables and folded sections in the Markdown that pull requests show."""

import re
from collections.abc import Iterable

from artifactctl.report.tables import Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@])")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is: no emphasis, link, HTML or end of a cell in it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return text as code in a cell: a name that mentions nobody and links nowhere."""
    flat = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    edge = " " if len(fence) > 1 else ""
    return f"{fence}{edge}{flat}{edge}{fence}" if flat else ""


def markdown_table(table: Table, *, code_in: str | None = None) -> str:
    """Return the table with escaped cells, code in the column of that title; numbers go to the right."""
    spellings = [code if column.title == code_in else escaped for column in table.columns]
    lines = [
        _row(column.title for column in table.columns),
        _row("---:" if column.right else "---" for column in table.columns),
        *(_row(spell(cell) for spell, cell in zip(spellings, row, strict=True)) for row in table.rows),
    ]
    return "\n".join(lines)


def folded(summary: str, content: str) -> str:
    """Return a section that is closed at first; the blank lines make its content Markdown again."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
