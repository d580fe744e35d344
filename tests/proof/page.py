"""Write the section of tests/README.md that says what the kill matrix has proven: python -m tests.proof.page."""

import textwrap

from tests.bench.sandbox import CHECKOUT
from tests.proof.acts import ACTS, CALLS, CELLS, KINDS, Cell
from tests.proof.figures import Figure, read_figures

README = CHECKOUT / "tests" / "README.md"
BEGIN = "<!-- written by `python -m tests.proof.page` from tests/proof/figures.json; do not edit -->"
END = "<!-- end of what it writes -->"


def main() -> None:
    """Put the section in its place."""
    README.write_text(with_section(README.read_text(encoding="utf-8"), section(read_figures())), encoding="utf-8")


def with_section(text: str, made: str) -> str:
    """Return the page with the section between its marks replaced."""
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{README} lacks the marks between which the section stands")
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"


def section(figures: dict[str, Figure]) -> str:
    """Return the figures as text and a table; what was not run is said to be not run."""
    of_now = {cell: figures[str(cell)] for cell in CELLS if str(cell) in figures}
    points = sum(figure.points for figure in of_now.values())
    complete = sum(figure.complete for figure in of_now.values())
    lines = [
        f"**{points:,} points** killed and recovered from in the recorded runs; {complete} of {len(CELLS)} cells are"
        " complete (every call of the command was one of them). Of the others the table says how many of the first"
        " calls were tried.",
        "",
        "| command | " + " | ".join(KINDS) + " |",
        "|---|" + "---|" * len(KINDS),
        *(f"| {act} | " + " | ".join(_cell(of_now, act, kind) for kind in KINDS) + " |" for act in ACTS),
        "",
        f"The {len(CALLS)} kinds of calls: `{' '.join(CALLS)}`.",
        "",
        *(_ran_on(of_now)),
    ]
    return "\n".join(_wrapped(lines)) + "\n"


def _cell(figures: dict[Cell, Figure], act: str, kind: str) -> str:
    known = [figure for cell, figure in figures.items() if (cell.act, cell.kind) == (act, kind)]
    if not known:
        return "not run"
    return f"all {known[0].points}" if known[0].complete else f"first {known[0].points}"


def _ran_on(figures: dict[Cell, Figure]) -> list[str]:
    days = sorted({figure.day for figure in figures.values()})
    if not days:
        return ["No run is recorded."]
    versions = sorted({figure.versions for figure in figures.values()})
    return [f"Run from {days[0]} to {days[-1]} on {'; '.join(versions)}."]


def _wrapped(lines: list[str]) -> list[str]:
    """Return the lines, long prose broken as the rest of the page is."""
    return [part for line in lines for part in (textwrap.wrap(line, 118) if line[:1] not in ("|", "") else [line])]


if __name__ == "__main__":
    main()
