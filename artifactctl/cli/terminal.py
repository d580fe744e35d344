"""Drawing on a terminal with rich; imported only when stdout is one."""

from typing import TextIO

from rich.console import Console
from rich.table import Table as DrawnTable
from rich.text import Text

from artifactctl.report.tables import Table


def print_table(table: Table, stream: TextIO) -> None:
    """Draw the table: bold titles, no box, long cells folded rather than cut."""
    drawn = DrawnTable(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        drawn.add_column(column.title, justify="right" if column.right else "left", overflow="fold", no_wrap=False)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    Console(file=stream, highlight=False, force_terminal=True).print(drawn)
