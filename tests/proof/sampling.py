"""Which points of the matrix one test run takes: others each time, the same again for the same seed."""

import os
import random
import secrets

from tests.proof.acts import Cell
from tests.proof.figures import read_figures

SEED_VARIABLE = "ARTIFACTCTL_PROOF_SEED"
POINTS_VARIABLE = "ARTIFACTCTL_PROOF_POINTS"
POINTS_OF_A_CELL = 2
RANGE_OF_AN_UNKNOWN_CELL = 60


def settle_seed() -> str:
    """Return the seed of this run, drawn where the environment names none; processes started from here get the same."""
    return os.environ.setdefault(SEED_VARIABLE, secrets.token_hex(4))


def sampled(cell: Cell) -> list[int]:
    """Return the numbers of the calls at which this run kills the cell's command, in order."""
    figures = read_figures()
    known = [
        figure.points for name, figure in figures.items() if name.startswith(f"{cell.act} on ") and figure.complete
    ]
    highest = max(known, default=RANGE_OF_AN_UNKNOWN_CELL)
    how_many = int(os.environ.get(POINTS_VARIABLE, POINTS_OF_A_CELL))
    drawn = random.Random(f"{settle_seed()} {cell}").sample(range(1, highest + 1), min(how_many, highest))
    return sorted(drawn)
