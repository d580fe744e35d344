"""What tests/README.md says is proven is what the recorded figures say."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof import page
from tests.proof.acts import CELLS
from tests.proof.figures import Figure, read_figures, write_figures

SOME = Figure(points=7, complete=False, day="2026-12-01", versions="Linux 6")


def test_the_page_is_the_one_that_the_figures_make() -> None:
    text = page.README.read_text(encoding="utf-8")

    assert page.with_section(text, page.section(read_figures())) == text, "run python -m tests.proof.page"


def test_every_figure_is_of_a_cell_there_is() -> None:
    assert set(read_figures()) <= {str(cell) for cell in CELLS}


def test_a_cell_that_was_not_completed_is_not_called_complete(tmp_path: Path) -> None:
    first, second, *_ = CELLS
    write_figures({str(first): SOME, str(second): replace(SOME, complete=True)}, tmp_path / "figures.json")

    made = page.section(read_figures(tmp_path / "figures.json"))

    assert "**14 points**" in made
    assert f"| {first.act} | first 7 | all 7 | not run |" in made


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the marks"):
        page.with_section("# Tests\n", "nothing")
