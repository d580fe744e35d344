"""Drawing on a terminal with rich; imported only when stdout is one."""

from typing import TextIO

from rich.console import Console
from rich.table import Table as DrawnTable
from rich.text import Text

from artifactctl.report.tables import Table, plain_lines


def print_table(table: Table, stream: TextIO) -> None:
    """Draw the table with bold titles and no box. One that is too wide is left to the terminal to wrap.

    Folding cells would break names in the middle, so that nobody could copy them.
    """
    console = Console(file=stream, highlight=False, force_terminal=True)
    lines = plain_lines(table)
    if max(map(len, lines)) > console.width:
        console.print(Text(lines[0], style="bold"), soft_wrap=True)
        for line in lines[1:]:
            console.print(Text(line), soft_wrap=True)
        return
    drawn = DrawnTable(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        drawn.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console.print(drawn)
