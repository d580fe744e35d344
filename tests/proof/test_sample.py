"""A sample of the kill matrix, another one in each run; `make prove` runs all of it.

The seed stands in the header of the run: ARTIFACTCTL_PROOF_SEED=... repeats it, ARTIFACTCTL_PROOF_POINTS=... takes
more points of each cell.
"""

import pytest

from tests.bench.warm_command_line import ForkServer
from tests.proof.acts import CELLS, Cell
from tests.proof.killing import kill_and_check, kill_at_each, new_ground
from tests.proof.sampling import sampled, settle_seed

pytestmark = pytest.mark.system


@pytest.mark.parametrize("cell", CELLS, ids=[str(cell) for cell in CELLS])
def test_a_kill_at_any_changing_call_loses_nothing(cell: Cell, warm_server: ForkServer) -> None:
    numbers = sampled(cell)
    killed: list[int] = []

    ended_at = kill_at_each(cell, numbers, warm_server, killed.append)

    print(f"seed {settle_seed()}: {cell} killed at {killed} of {numbers}")
    assert ended_at is None or ended_at in numbers
    assert killed or numbers[0] > 1


def test_a_command_that_ends_before_the_call_is_no_point(warm_server: ForkServer) -> None:
    with new_ground(CELLS[0], warm_server) as ground:
        assert not kill_and_check(ground, CELLS[0], 60_000)
        assert kill_and_check(ground, CELLS[0], 1)
