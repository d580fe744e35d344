"""HTML from values: whatever is not already markup is escaped, so that a hostile name is only ever shown."""

import html
from collections.abc import Iterable, Sequence

from artifactctl.domain.text import printable
from artifactctl.report.tables import Table

_VOID = frozenset({"meta"})
_SHORT_CHARACTERS = 24


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Return the text as it is to be read; control characters and undecodable bytes are shown as escapes."""
    return text if isinstance(text, Markup) else Markup(html.escape(printable(text)))


def element(tag: str, *content: str, **attributes: str | int) -> Markup:
    """Return `<tag …>content</tag>`; `class_` is the attribute `class`, `aria_label` is `aria-label`."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(str(value))}"' for name, value in attributes.items()
    )
    if tag in _VOID:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{joined(content)}</{tag}>")


def joined(parts: Iterable[str]) -> Markup:
    """Return the parts one after the other, escaped where they are no markup."""
    return Markup("".join(map(escaped, parts)))


def html_table(table: Table, *, pictures: Sequence[Markup] = ()) -> Markup:
    """Return the table, or what it says without rows; `pictures`, one a row, stand in a last column without a title."""
    if not table.rows:
        return element("p", table.empty, class_="none")
    classes = [_class_of(table, index) for index in range(len(table.columns))]
    head = [
        element("th", column.title, class_=name, scope="col")
        for column, name in zip(table.columns, classes, strict=True)
    ]
    rows = []
    for index, row in enumerate(table.rows):
        cells = [element("td", cell, class_=name) for cell, name in zip(row, classes, strict=True)]
        cells += [element("td", pictures[index], class_="picture")] if pictures else []
        rows.append(element("tr", *cells))
    head += [element("th", class_="picture", scope="col")] if pictures else []
    drawn = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    return element("div", drawn, class_="wide")


def _class_of(table: Table, index: int) -> str:
    """Return how a column is set: numbers to the right, instants and ids on one line, the rest as it fits."""
    if table.columns[index].right:
        return "number"
    return "short" if all(len(row[index]) <= _SHORT_CHARACTERS for row in table.rows) else "text"
